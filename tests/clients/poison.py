"""Sends a message that is not JSON and expects it in the dead-letter queue, and that it stays there.

Usage: poison.py QUEUE_URL DEAD_LETTER_QUEUE_URL, with the standard AWS environment variables.
"""

import sys
import time

import boto3

COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
sqs = boto3.client("sqs")


def main():
    queue, dead = sys.argv[1:]
    assert held(dead) == 0, "the dead-letter queue must be empty before"
    sqs.send_message(QueueUrl=queue, MessageBody="this is not JSON")
    end = time.monotonic() + 90
    while held(dead) != 1:
        assert time.monotonic() < end, f"not in the dead-letter queue: {held(queue)} in the queue, {held(dead)} dead"
        time.sleep(0.5)
    print("poison: the message is in the dead-letter queue", flush=True)
    # Long enough for the keeper to receive it there more than once.
    end = time.monotonic() + 5
    while time.monotonic() < end:
        assert held(dead) == 1, "the keeper must leave what it cannot read"
        time.sleep(0.5)
    assert held(queue) == 0, "the queue must be empty"
    print("poison: and stays there", flush=True)


def held(queue):
    """Returns how many messages the queue has, visible or being handled."""
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=list(COUNTS))["Attributes"]
    return sum(int(attributes[count]) for count in COUNTS)


if __name__ == "__main__":
    main()
