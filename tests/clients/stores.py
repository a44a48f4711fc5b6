"""Does to the stores of a stack what an operator or AWS does.

Usage: stores.py restore SOURCE_TABLE COPY   restores a table as it is now
       stores.py deleted BUCKET DOCUMENT     succeeds if an object of a document is deleted, in a bucket with versions
       stores.py encrypt STACK KEY           encrypts the data of a stack, which CloudFormation of the stand-in forgets
       stores.py delete-stack STACK          deletes a stack, and waits for that

with the standard AWS environment variables.
"""

import sys

import boto3


def restore(source, copy):
    boto3.client("dynamodb").restore_table_to_point_in_time(SourceTableName=source, TargetTableName=copy)


def deleted(bucket, document):
    versions = boto3.client("s3").list_object_versions(Bucket=bucket)
    written = {version["Key"] for version in versions.get("Versions", []) if document in version["Key"]}
    # There are delete markers of objects that never existed, too.
    if not any(marker["Key"] in written for marker in versions.get("DeleteMarkers", [])):
        sys.exit("no object is deleted")


def encrypt(stack, key):
    resources = boto3.client("cloudformation").list_stack_resources(StackName=stack)["StackResourceSummaries"]
    names = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in resources}
    encryption = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    for table in ("RecordsTable", "ActivityTable"):
        boto3.client("dynamodb").update_table(TableName=names[table], SSESpecification=encryption)
    default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}
    boto3.client("s3").put_bucket_encryption(
        Bucket=names["Bucket"],
        ServerSideEncryptionConfiguration={"Rules": [{"ApplyServerSideEncryptionByDefault": default}]},
    )


def delete_stack(stack):
    cloudformation = boto3.client("cloudformation")
    cloudformation.delete_stack(StackName=stack)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


if __name__ == "__main__":
    commands = {"restore": restore, "deleted": deleted, "encrypt": encrypt, "delete-stack": delete_stack}
    commands[sys.argv[1]](*sys.argv[2:])
