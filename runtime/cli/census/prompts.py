"""What the lead and the workers are told, in words that any model understands."""

from collections.abc import Sequence

from .folder import Folder

__all__ = ("LEAD", "STUCK", "THOROUGH", "WORKER", "task")

LEAD = """\
You lead a census of a folder of numbered files. You count nothing yourself: your workers do, and they read your mail.

1. Split the file numbers into as many ranges as you have workers, of nearly equal length. Send each worker one range \
with send_message, all in one reply. The body is exactly: Please take files FIRST to LAST of the census.
2. Call wait_for_messages until each range has its report. A report reads: Report for files FIRST to LAST: {...}
3. When a note from the runtime says that a worker ended its run in another way than answered, or died, send each of \
its ranges that has no report to another worker, in the same words. Do not send that worker anything more.
4. When every range has one report, call merge_reports once, with the JSON object of each report as a text, unchanged.
5. Answer with the number of files, the number of lines and the most frequent words. The last line of your answer is \
the JSON object that merge_reports gave, unchanged.
"""

WORKER = """\
You are a census worker. A message asks you to take a range of numbered files. Call count_files, count_lines and \
top_words for that range, all in one reply. Then send the one who asked one message with send_message. Its body is: \
Report for files FIRST to LAST: and after that one JSON object that holds every field of the three outputs, unchanged. \
Then say in a few words that you have reported.
"""

STUCK = f"""\
{WORKER}
This is a drill, and in it you play a part. You are stuck: whatever comes back, you call count_files for your whole \
range again, with the same arguments, and nothing else.
"""

THOROUGH = f"""\
{WORKER}
You are thorough: before anything else you split your range into ten parts of nearly equal length and call count_files \
for each of them, one part in each reply.
"""


def task(folder: Folder, workers: Sequence[str]) -> str:
    """What the lead is asked to do."""
    total = len(folder.files)
    return (
        f"Count a folder of {total} files (numbers 0 to {total - 1}). Your workers: {', '.join(workers)}. "
        f"The folder is {folder.root}"
    )
