//! The cost of each operation of the interface in units that AWS bills, counted in the transport
//! and compared with `budget.yaml`. An operation fails if it costs more than its budget, or if the
//! budget is far above the actual cost.
//!
//! `RECOLLECT_BUDGET=print cargo test -p acceptance --test budget -- --nocapture` prints the
//! counts.

mod namespaces;
mod operations;
mod rig;

use std::collections::BTreeMap;

use embedded::RequestCounts;
use serde::Deserialize;

use rig::MeteredSystem;

/// The budget of an operation, as the average of a few calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OperationBudget {
    /// DynamoDB read request units.
    #[serde(default)]
    reads: f64,
    /// DynamoDB write request units.
    #[serde(default)]
    writes: f64,
    /// S3 requests that write or list.
    #[serde(default)]
    s3_puts: f64,
    /// S3 requests that read.
    #[serde(default)]
    s3_gets: f64,
    /// SQS requests.
    #[serde(default)]
    sqs: f64,
    /// KMS requests.
    #[serde(default)]
    kms: f64,
    /// The longest chain of requests that wait for each other, which decides how long an operation
    /// takes in Lambda.
    #[serde(default)]
    chain: f64,
    /// The design goal in dollars per million calls, if there is one.
    goal: Option<f64>,
}

/// An operation and the sum of its costs.
struct MeasuredOperation {
    operation: &'static str,
    calls: usize,
    count: RequestCounts,
}

impl MeasuredOperation {
    /// Returns the mean units by their names in the budget.
    fn mean_units(&self) -> [(&'static str, f64); 7] {
        let mean = |sum: f64| sum / self.calls as f64;
        [
            ("reads", mean(self.count.read_units)),
            ("writes", mean(self.count.write_units)),
            ("s3_puts", mean(self.count.s3_puts as f64)),
            ("s3_gets", mean(self.count.s3_gets as f64)),
            ("sqs", mean(self.count.sqs as f64)),
            ("kms", mean(self.count.kms as f64)),
            ("chain", mean(self.count.longest_chain as f64)),
        ]
    }

    fn mean_dollars(&self) -> f64 {
        self.count.dollars_per_million() / self.calls as f64
    }

    /// Returns the differences between the measured cost and the budget.
    fn compare_with_budget(&self, budget: &OperationBudget) -> Vec<String> {
        /// The absolute tolerance. Counts vary a little with the lengths of random ids.
        const TOLERANCE: f64 = 0.26;
        /// The highest ratio of budget to cost. A budget further above it would not notice that a
        /// small cost doubles.
        const SLACK: f64 = 1.3;
        let allowed = [
            budget.reads,
            budget.writes,
            budget.s3_puts,
            budget.s3_gets,
            budget.sqs,
            budget.kms,
            budget.chain,
        ];
        let mut faults = Vec::new();
        for ((name, units), allowed) in self.mean_units().into_iter().zip(allowed) {
            if units > allowed * 1.05 + TOLERANCE {
                faults.push(format!(
                    "{}: {units:.2} {name}, and {allowed} are budgeted",
                    self.operation
                ));
            }
            if allowed > units * SLACK + 2.0 * TOLERANCE {
                faults.push(format!(
                    "{}: {allowed} {name} are budgeted for {units:.2}",
                    self.operation
                ));
            }
        }

        if budget.goal.is_some_and(|goal| self.mean_dollars() > goal) {
            faults.push(format!(
                "{}: ${:.2} a million misses the goal",
                self.operation,
                self.mean_dollars()
            ));
        }

        faults
    }
}

#[test]
fn no_operation_costs_more_than_its_budget() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let measured = runtime.block_on(async {
        let mut rig = MeteredSystem::new()
            .await
            .expect("a system in a temporary folder");
        operations::measure_all(&mut rig).await;
        rig.measured
    });
    print_if_asked(&measured);
    let budgets: BTreeMap<String, OperationBudget> =
        serde_norway::from_str(include_str!("budget.yaml")).expect("budget.yaml");
    let mut faults = Vec::new();

    for measured in &measured {
        match budgets.get(measured.operation) {
            Some(budget) => faults.extend(measured.compare_with_budget(budget)),
            None => faults.push(format!("{}: there is no budget", measured.operation)),
        }
    }

    let unknown = budgets
        .keys()
        .filter(|name| measured.iter().all(|one| one.operation != name.as_str()));
    faults.extend(unknown.map(|name| format!("{name}: budgeted and not measured")));
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[expect(clippy::print_stdout, reason = "asked for by whoever runs the test")]
fn print_if_asked(measured: &[MeasuredOperation]) {
    if std::env::var_os("RECOLLECT_BUDGET").is_none() {
        return;
    }

    for one in measured {
        let units = one
            .mean_units()
            .into_iter()
            .filter(|(_, units)| *units > 0.0);
        let units: Vec<String> = units
            .map(|(name, units)| format!("{name}: {}", round_units(units)))
            .collect();
        println!(
            "{}: {{ {} }} # ${:.2} a million",
            one.operation,
            units.join(", "),
            one.mean_dollars()
        );
    }
}

/// Rounds to one decimal, as in the budget.
fn round_units(units: f64) -> f64 {
    (units * 10.0).round() / 10.0
}
