"""Checks the alarms of a deployment to ministack, finishes it where it differs from AWS, and prints the stack's settings as shell assignments.

- It ignores the OpenAPI body in which SAM describes the routes of an HTTP API: they are made from the template's events.
- It takes the number of a parameter as text and then fails to poll: MaximumConcurrency is set again as a number.
- It waits the real visibility time-outs: those of the queues that get a bad message are made short.

Usage: after_deploy.py BUILT_TEMPLATE STACK, with the standard AWS environment variables.
"""

import sys

import boto3
from samcli.yamlhelper import parse_yaml_file

# Environment variable: the stack's output.
VARIABLES = {
    "RECOLLECT_RECORDS_TABLE": "RecordsTable",
    "RECOLLECT_SECRETS_TABLE": "SecretsTable",
    "RECOLLECT_SECRETS_KEY_ID": "SecretsKeyId",
    "RECOLLECT_ACTIVITY_TABLE": "ActivityTable",
    "RECOLLECT_BUCKET": "Bucket",
    "RECOLLECT_PROCESS_QUEUE_URL": "ProcessQueueUrl",
    "RECOLLECT_COMMIT_QUEUE_URL": "CommitQueueUrl",
    "RECOLLECT_KEEPER_QUEUE_URL": "KeeperQueueUrl",
    "RECOLLECT_SYNC_QUEUE_URL": "SyncQueueUrl",
}


def main():
    template, stack = parse_yaml_file(sys.argv[1]), sys.argv[2]
    cloudformation = boto3.client("cloudformation")
    [found] = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}
    check_alarms(stack)
    add_routes(template, stack, outputs["ApiId"])
    set_concurrency()
    for queue in ("ProcessQueueUrl", "ProcessDeadUrl"):
        boto3.client("sqs").set_queue_attributes(QueueUrl=outputs[queue], Attributes={"VisibilityTimeout": "1"})
    for variable, output in VARIABLES.items():
        print(f"export {variable}='{outputs[output]}'")
    print(f"dead='{outputs['ProcessDeadUrl']}'")
    print(f"account='{found['StackId'].split(':')[4]}'")
    print(f"api='{cloudformation.meta.endpoint_url}/_aws/execute-api/{outputs['ApiId']}/$default'")


def check_alarms(stack):
    declared = parse_yaml_file("infra/monitoring.yaml")["Resources"].values()
    alarms = [one for one in declared if one["Type"] == "AWS::CloudWatch::Alarm"]
    names = [one["Properties"]["AlarmName"] for one in alarms if one.get("Condition") != "HasRecall"]
    wanted = {name["Fn::Sub"].replace("${Name}", stack) for name in names}
    cloudwatch = boto3.client("cloudwatch")
    found = {alarm["AlarmName"] for alarm in cloudwatch.describe_alarms()["MetricAlarms"]}
    if found != wanted:
        sys.exit(f"alarms that are not as declared: {sorted(found ^ wanted)}")
    if [one["DashboardName"] for one in cloudwatch.list_dashboards()["DashboardEntries"]] != [stack]:
        sys.exit("the dashboard is not there")


def add_routes(template, stack, api):
    gateway, functions = boto3.client("apigatewayv2"), boto3.client("lambda")
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        events = resource["Properties"].get("Events", {}).values()
        routes = [event["Properties"] for event in events if event["Type"] == "HttpApi"]
        if not routes:
            continue
        name = resource["Properties"]["FunctionName"]["Fn::Sub"].replace("${AWS::StackName}", stack)
        arn = functions.get_function(FunctionName=name)["Configuration"]["FunctionArn"]
        integration = gateway.create_integration(
            ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=arn, PayloadFormatVersion="2.0"
        )
        for route in routes:
            key = f"{route['Method'].upper()} {route['Path']}" if "Path" in route else "$default"
            gateway.create_route(ApiId=api, RouteKey=key, Target=f"integrations/{integration['IntegrationId']}")


def set_concurrency():
    functions = boto3.client("lambda")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": 5})


if __name__ == "__main__":
    main()
