"""Does to the recall service of a stack what the stand-in of AWS does not do.

Usage: recall_stack.py network                 prints a network and its subnets as shell assignments
       recall_stack.py variables STACK         checks the service, and prints the variables of its tasks as shell exports
       recall_stack.py tasks STACK ADDRESSES   tells the function `search` where the tasks are, in place of their name

with the standard AWS environment variables. The stand-in starts no containers, answers no names and puts no
function into a network, so the caller runs the tasks as processes.
"""

import shlex
import sys

import boto3


def network():
    ec2 = boto3.client("ec2")
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Subnets"]
    print(f"vpc={vpc}")
    print("subnets=" + ",".join(subnet["SubnetId"] for subnet in subnets[:2]))


def variables(stack):
    ecs = boto3.client("ecs")
    [service] = ecs.describe_services(cluster=f"{stack}-recall", services=["recall"])["services"]
    if service["desiredCount"] != 2:
        sys.exit(f"{service['desiredCount']} tasks instead of 2")
    names = boto3.client("servicediscovery").list_services()["Services"]
    if [name["Name"] for name in names] != ["recall"]:
        sys.exit("the tasks have no name")
    function = boto3.client("lambda").get_function_configuration(FunctionName=f"{stack}-search")
    address = function["Environment"]["Variables"]["RECOLLECT_RECALL_SERVICE"]
    if address != f"recall.{stack}.internal:8787":
        sys.exit(f"the function looks for the tasks at {address}")

    task = ecs.describe_task_definition(taskDefinition=service["taskDefinition"])["taskDefinition"]
    [container] = task["containerDefinitions"]
    for variable in container["environment"]:
        print(f"export {variable['name']}={shlex.quote(variable['value'])}")


def tasks(stack, addresses):
    functions = boto3.client("lambda")
    environment = functions.get_function_configuration(FunctionName=f"{stack}-search")["Environment"]
    environment["Variables"]["RECOLLECT_RECALL_SERVICE"] = addresses
    functions.update_function_configuration(FunctionName=f"{stack}-search", Environment=environment)


if __name__ == "__main__":
    {"network": network, "variables": variables, "tasks": tasks}[sys.argv[1]](*sys.argv[2:])
