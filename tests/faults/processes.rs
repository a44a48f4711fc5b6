//! The processes of an installation, which work at the same time and whose services fail.

use domain::Timestamp;
use rand::RngExt;
use rand::rngs::StdRng;
use testkit::{FaultRates, TestApp, TestEnvironment};

/// Two processes.
pub(crate) struct Processes<'a> {
    environment: &'a TestEnvironment,
    pub(crate) first: TestApp,
    pub(crate) second: TestApp,
}

impl<'a> Processes<'a> {
    pub(crate) async fn start(environment: &'a TestEnvironment, seed: u64) -> Self {
        Self {
            environment,
            first: start_faulty(environment, seed).await,
            second: start_faulty(environment, !seed).await,
        }
    }

    pub(crate) fn set_rates(&self, rates: FaultRates) {
        self.first.faults.set_rates(rates);
        self.second.faults.set_rates(rates);
    }

    /// Lets both processes handle messages at the same time.
    pub(crate) async fn work(&self) {
        futures::join!(
            self.first.run_workers_once(),
            self.second.run_workers_once()
        );
    }

    /// Sends everything again that is unfinished, while the first process is still at it.
    pub(crate) async fn work_twice(&self) {
        let again = async {
            let all = Timestamp::from_millis(i64::MAX);
            maintenance::sweep_overdue_work(&self.second.system.ctx, all)
                .await
                .ok();
            self.second.run_workers_once().await
        };
        futures::join!(self.first.run_workers_once(), again);
    }

    /// Lets the first process crash at one of its next calls.
    pub(crate) fn crash_within(&self, calls: u64, random: &mut StdRng) {
        let faults = &self.first.faults;
        faults.crash_at(Some(faults.call_count() + random.random_range(0..calls)));
    }

    /// Starts the first process again, after a crash.
    pub(crate) async fn restart(&mut self, random: &mut StdRng) {
        self.first = start_faulty(self.environment, random.random()).await;
    }
}

async fn start_faulty(environment: &TestEnvironment, seed: u64) -> TestApp {
    let app = TestApp::start(environment, seed).await.expect("an app");
    app.faults.set_rates(FaultRates::OCCASIONAL);
    app
}
