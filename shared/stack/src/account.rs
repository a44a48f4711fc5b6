//! The account and the region of a deployment.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};

/// The time for the upload of a function over a slow line.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(900);

/// An AWS account in a region, with clients of the services that deployments need.
#[derive(Debug, Clone)]
pub struct Account {
    /// The number of the account.
    pub id: String,
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// The partition of the region's ARNs, such as `aws`.
    pub(crate) partition: String,
    pub(crate) cloudformation: aws_sdk_cloudformation::Client,
    pub(crate) cloudwatch: aws_sdk_cloudwatch::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    config: SdkConfig,
}

impl Account {
    /// Connects with the standard AWS configuration. `region` takes the place of its region.
    ///
    /// # Errors
    /// Fails without a region, without credentials, or if AWS refuses them.
    pub async fn connect(region: Option<&str>) -> Result<Self> {
        let mut config = aws::load_config().await;
        if let Some(region) = region {
            let region = Region::new(region.to_owned());
            config = config.into_builder().region(region).build();
        }
        let Some(region) = config.region().map(ToString::to_string) else {
            bail!("no region: give one with --region, or set AWS_REGION");
        };

        let identity = aws_sdk_sts::Client::new(&config)
            .get_caller_identity()
            .send()
            .await
            .context(
                "AWS does not accept the credentials of the environment or profile. With single sign-on, \
                 run first: eval \"$(aws configure export-credentials --format env)\"",
            )?;
        let partition = identity.arn().and_then(|arn| arn.split(':').nth(1));
        let id = identity.account().context("AWS names no account")?;

        Ok(Self {
            id: id.to_owned(),
            region,
            partition: partition.unwrap_or("aws").to_owned(),
            cloudformation: aws_sdk_cloudformation::Client::new(&config),
            cloudwatch: aws_sdk_cloudwatch::Client::new(&config),
            s3: aws_sdk_s3::Client::from_conf(
                aws_sdk_s3::config::Builder::from(&config)
                    // Every endpoint that plays S3 knows addresses with the bucket in the path.
                    .force_path_style(config.endpoint_url().is_some())
                    .timeout_config(
                        TimeoutConfig::builder()
                            .operation_attempt_timeout(UPLOAD_TIMEOUT)
                            .build(),
                    )
                    .build(),
            ),
            sqs: aws_sdk_sqs::Client::new(&config),
            config,
        })
    }

    /// Returns the address that the configuration gives to all services, if it gives one.
    pub(crate) fn endpoint_url(&self) -> Option<&str> {
        self.config.endpoint_url()
    }

    /// Returns the clients of the services behind the ports.
    pub fn clients(&self) -> aws::Clients {
        aws::Clients::new(&self.config)
    }
}
