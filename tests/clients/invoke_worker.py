"""Plays the part that `sam local` lacks: hands what waits in a queue to a function in its container, as SQS does.

Receives up to ten messages, starts `sam local invoke` with them as one SQS event, and deletes what the function does not
report as failed. Ends with a status other than 0 when nothing waits or anything failed.

Usage: invoke_worker.py FUNCTION QUEUE_URL SAM_ARGUMENT…, with the standard AWS environment variables.
"""

import json
import subprocess
import sys
import time

import boto3

sqs = boto3.client("sqs")


def main():
    function, queue, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    messages = receive(queue)
    assert messages, f"nothing waits in {queue}"
    command = ["sam", "local", "invoke", function, "--event", "-", *arguments]
    event = json.dumps({"Records": [record(queue, message) for message in messages]})
    ended = subprocess.run(command, input=event, stdout=subprocess.PIPE, text=True, check=True)
    answer = json.loads(ended.stdout.strip().splitlines()[-1])
    assert answer == {"batchItemFailures": []}, answer
    for message in messages:
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    print(f"{function} processed {len(messages)} messages in its container", flush=True)


def receive(queue):
    """Returns what is there; an empty answer is tried again, because what was just accepted may not be there yet."""
    for _ in range(20):
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        if answer.get("Messages"):
            return answer["Messages"]
        time.sleep(0.2)
    return []


def record(queue, message):
    arn = f"arn:aws:sqs:{sqs.meta.region_name}:000000000000:{queue.rsplit('/', 1)[-1]}"
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": sqs.meta.region_name,
    }


if __name__ == "__main__":
    main()
