// Preloaded (`node --require`) into servers that would listen on all interfaces: they listen on 127.0.0.1, on a port
// that is free, and say on which.
const { Server } = require("node:net");

const listen = Server.prototype.listen;

Server.prototype.listen = function (...given) {
  this.once("listening", () => console.error(`loopback port ${this.address().port}`));
  return listen.call(this, { host: "127.0.0.1", port: 0 }, given.find((each) => typeof each === "function"));
};
