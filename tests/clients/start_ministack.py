"""Starts ministack with the alarms that it lacks: those over several metrics.

It refuses them, so a deployment with monitoring would end here. They are held to what CloudWatch takes (the reference of
PutMetricAlarm), and then kept as alarms over their first metric.
"""

from ministack.app import main
from ministack.services.cloudformation import provisioners

MOST_METRICS = 10
MOST_EXPRESSIONS = 10

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


provisioners._cw_metric_alarm_record = record

if __name__ == "__main__":
    main()
