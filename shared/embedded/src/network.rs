//! The network between a function and the AWS services, for measurements: how long AWS takes to
//! answer, and how fast bytes arrive.

use std::f64::consts::TAU;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::RngExt;
use tokio::time::Instant;

use crate::blocking::lock_mutex;

/// The response times of AWS and the bandwidth of a function.
#[derive(Debug, Clone, Copy)]
pub struct NetworkProfile {
    /// The time from a request to DynamoDB to its answer.
    pub dynamodb: ResponseTime,
    /// The time from a request to S3 to the first byte of its answer.
    pub s3: ResponseTime,
    /// The time from a request to SQS or KMS to its answer.
    pub others: ResponseTime,
    /// The bytes a second that a function sends and receives, over all its connections.
    pub bytes_per_second: f64,
}

/// A response time with a log-normal distribution.
#[derive(Debug, Clone, Copy)]
pub struct ResponseTime {
    /// The median.
    pub median: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

impl NetworkProfile {
    /// Returns what a Lambda function sees in its own region: 5 ms from DynamoDB, 63 ms to the first
    /// byte of an S3 object (p99 78 ms, as turbopuffer publishes), and 75 MB/s.
    pub fn lambda() -> Self {
        let times = |median, p99| ResponseTime {
            median: Duration::from_millis(median),
            p99: Duration::from_millis(p99),
        };
        Self {
            dynamodb: times(5, 12),
            s3: times(63, 78),
            others: times(10, 30),
            bytes_per_second: 75e6,
        }
    }
}

impl ResponseTime {
    /// The 99th percentile of the standard normal distribution.
    const NORMAL_P99: f64 = 2.326;

    fn sample(self) -> Duration {
        let median = self.median.as_secs_f64();
        let deviation = (self.p99.as_secs_f64() / median).ln() / Self::NORMAL_P99;
        Duration::from_secs_f64(median * (deviation * sample_normal()).exp())
    }
}

/// Returns a sample of the standard normal distribution (Box and Muller, 1958).
fn sample_normal() -> f64 {
    let mut random = rand::rng();
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
}

/// The service that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    DynamoDb,
    S3,
    Sqs,
    Kms,
}

impl Service {
    /// Returns the service of a request with this `x-amz-target` header; S3 has none.
    pub(crate) fn of_target(target: Option<&http::HeaderValue>) -> Self {
        let target = target.map_or("", |value| value.to_str().unwrap_or_default());
        match target.split('.').next().unwrap_or_default() {
            "" => Self::S3,
            "AmazonSQS" => Self::Sqs,
            "TrentService" => Self::Kms,
            _ => Self::DynamoDb,
        }
    }
}

/// A network whose bandwidth all requests share. Clones are the same network.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    profile: NetworkProfile,
    /// The time at which the bytes that are on their way have arrived.
    busy_until: Arc<Mutex<Instant>>,
}

impl Network {
    pub(crate) fn new(profile: NetworkProfile) -> Self {
        Self {
            profile,
            busy_until: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// Waits until the answer to a request would have arrived from AWS. The time that the embedded
    /// service took is a part of it.
    pub(crate) async fn wait_for_answer(&self, service: Service, begun: Instant, bytes: usize) {
        let time = match service {
            Service::DynamoDb => self.profile.dynamodb,
            Service::S3 => self.profile.s3,
            Service::Sqs | Service::Kms => self.profile.others,
        };
        let first_byte = begun + time.sample();
        // Only an answer that has begun to arrive takes bandwidth from others.
        tokio::time::sleep_until(first_byte).await;
        tokio::time::sleep_until(self.arrival(first_byte, bytes)).await;
    }

    /// Returns when an answer has arrived whose first byte came at `first_byte`, after those that began
    /// before it.
    fn arrival(&self, first_byte: Instant, bytes: usize) -> Instant {
        let transfer = Duration::from_secs_f64(bytes as f64 / self.profile.bytes_per_second);
        let mut busy_until = lock_mutex(&self.busy_until);
        *busy_until = first_byte.max(*busy_until) + transfer;
        *busy_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_at_the_same_time_share_the_bandwidth() {
        let network = Network::new(NetworkProfile {
            bytes_per_second: 1e6,
            ..NetworkProfile::lambda()
        });
        let first_byte = Instant::now() + Duration::from_secs(1);
        let mut arrivals = Vec::new();
        for _ in 0..2 {
            let arrival = network.arrival(first_byte, 100_000);
            arrivals.push((arrival - first_byte).as_millis());
        }
        assert_eq!(arrivals, [100, 200]);
    }

    #[tokio::test]
    async fn an_answer_does_not_wait_for_one_that_begins_later() {
        let network = Network::new(NetworkProfile::lambda());
        let begun = Instant::now();
        let slow = network.wait_for_answer(Service::S3, begun + Duration::from_secs(60), 1);
        tokio::select! {
            biased;
            () = slow => panic!("it begins in a minute"),
            () = network.wait_for_answer(Service::DynamoDb, begun, 1) => {}
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn samples_have_the_median_and_the_percentile_of_the_profile() {
        let time = NetworkProfile::lambda().s3;
        let mut samples: Vec<Duration> = (0..20_000).map(|_| time.sample()).collect();
        samples.sort_unstable();
        let is_near = |sample: Duration, expected: Duration| {
            sample.abs_diff(expected) < expected.mul_f64(0.03)
        };
        assert!(
            is_near(samples[10_000], time.median),
            "{:?}",
            samples[10_000]
        );
        assert!(is_near(samples[19_800], time.p99), "{:?}", samples[19_800]);
    }
}
