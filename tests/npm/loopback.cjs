// Preloaded (`node --require`) into servers that would listen on all interfaces: they listen on 127.0.0.1, at the port
// LOOPBACK_PORT or else at one that is free, and say at which.
const { Server } = require("node:net");

const listen = Server.prototype.listen;
const port = Number(process.env.LOOPBACK_PORT ?? 0);

Server.prototype.listen = function (...given) {
  this.once("listening", () => console.error(`loopback port ${this.address().port}`));
  return listen.call(this, { host: "127.0.0.1", port }, given.find((each) => typeof each === "function"));
};
