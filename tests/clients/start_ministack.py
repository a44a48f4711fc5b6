"""Starts ministack with what it lacks: alarms over several metrics, and services of ECS whose number is a parameter.

It refuses the alarms, so a deployment with monitoring would end here. They are held to what CloudWatch takes (the
reference of PutMetricAlarm), and then kept as alarms over their first metric. It takes the number of a parameter as
text, and fails to count tasks with it.
"""

from ministack.app import main
from ministack.services.cloudformation import provisioners

MOST_METRICS = 10
MOST_EXPRESSIONS = 10

create_service = provisioners._RESOURCE_HANDLERS["AWS::ECS::Service"]["create"]
record_of_one_metric = provisioners._cw_metric_alarm_record


def record(name, properties):
    queries = properties.get("Metrics")
    if not queries:
        return record_of_one_metric(name, properties)
    metrics = [query["MetricStat"] for query in queries if "MetricStat" in query]
    if len(metrics) > MOST_METRICS:
        raise ValueError(f"{name}: an alarm takes {MOST_METRICS} metrics, not {len(metrics)}")
    if len(queries) - len(metrics) > MOST_EXPRESSIONS:
        raise ValueError(f"{name}: an alarm takes {MOST_EXPRESSIONS} expressions")
    if sum(query.get("ReturnData", True) is not False for query in queries) != 1:
        raise ValueError(f"{name}: exactly one query returns the value that is watched")
    if len({query["Id"] for query in queries}) != len(queries):
        raise ValueError(f"{name}: an id stands twice")
    first = metrics[0]
    single = {key: value for key, value in properties.items() if key != "Metrics"}
    single |= first["Metric"] | {"Statistic": first["Stat"], "Period": first["Period"]}
    return record_of_one_metric(name, single)


def service(name, properties, stack):
    return create_service(name, properties | {"DesiredCount": int(properties.get("DesiredCount", 1))}, stack)


provisioners._cw_metric_alarm_record = record
provisioners._RESOURCE_HANDLERS["AWS::ECS::Service"]["create"] = service

if __name__ == "__main__":
    main()
