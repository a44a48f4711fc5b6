//! The deployment that a function belongs to: its ports, queues and settings.

use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};
use aws::{
    AnswerStore, Clients, LambdaFunction, QueueReceiver, ResourceNames, SdkConfig, SystemClock,
};
use domain::ports::RemoteFunction;
use edge::App;
use remote::{ModelClient, ModelSettings};
use service::{Authenticator, Ctx};
use tracing::warn;

use crate::events::EventMessage;
use crate::read_variable;
use crate::settings::Settings;

/// The deployment that a function belongs to, as its environment describes it.
pub struct Deployment {
    /// The ports.
    pub ctx: Ctx,
    /// The settings of the function.
    pub settings: Settings,
    pub(crate) queues: Queues,
    pub(crate) answers: AnswerStore,
    config: SdkConfig,
}

impl Deployment {
    /// Reads the environment, and the operator's secret if the environment names one.
    ///
    /// # Errors
    /// Fails if a variable is missing, or if the secret cannot be read.
    pub async fn from_environment() -> Result<Self> {
        let config = aws::load_config().await;
        let clients = Clients::new(&config);
        let names = ResourceNames::from_environment(read_variable)?;
        Ok(Self {
            ctx: aws::build_context(&clients, &names, Arc::new(SystemClock)),
            settings: Settings::load(&config).await?,
            answers: AnswerStore::new(&clients, &names),
            queues: Queues::new(clients, names),
            config,
        })
    }

    /// Returns the state of the routers of this process.
    ///
    /// # Errors
    /// Fails if a variable has a value that is not allowed.
    pub fn build_app(&self) -> Result<App> {
        let ctx = self.ctx.clone();
        let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
        let app = App::new(ctx, authenticator)
            .with_allowed_origins(read_setting("RECOLLECT_CORS_ORIGINS")?)
            .with_provider_names(read_setting("RECOLLECT_PROVIDER_NAMES")?);
        Ok(app)
    }

    /// Returns the client of the models that the operator chose.
    pub fn model_client(&self) -> ModelClient {
        let settings = ModelSettings::from_environment(|name| self.settings.get(name));
        ModelClient::new(settings)
    }

    /// Returns the function whose name is in a variable of the environment, or `None` if the variable
    /// is empty.
    ///
    /// # Errors
    /// Fails if the variable is not set.
    pub fn function(&self, variable: &str) -> Result<Option<Arc<dyn RemoteFunction>>> {
        let name = read_variable(variable).with_context(|| format!("set {variable}"))?;
        if name.is_empty() {
            return Ok(None);
        }
        let Queues { clients, names } = &self.queues;
        let clock = self.ctx.clock.clone();
        let function = LambdaFunction::new(&self.config, clients, names, clock, name);
        Ok(Some(Arc::new(function)))
    }
}

/// Returns a setting of the environment, or its default if it is not set.
fn read_setting<T: Default + FromStr<Err = domain::Error>>(name: &str) -> Result<T> {
    match read_variable(name) {
        Some(text) => Ok(text.parse()?),
        None => Ok(T::default()),
    }
}

/// The queues of a deployment, to which messages return for another attempt.
#[derive(Debug, Clone)]
pub struct Queues {
    clients: Clients,
    names: ResourceNames,
}

impl Queues {
    /// Returns the queues beside those in `names`.
    pub fn new(clients: Clients, names: ResourceNames) -> Self {
        Self { clients, names }
    }

    /// Makes a message visible again after a few seconds. Otherwise it would come again after the
    /// visibility time-out of its queue, which is twelve minutes.
    pub(crate) async fn retry_soon(&self, message: &EventMessage) {
        let Some(address) = self.names.queue_address(&message.queue) else {
            return;
        };
        let receiver = QueueReceiver::new(self.clients.sqs.clone(), address);
        let delay = message.message.retry_delay();
        if let Err(error) = receiver.retry_after(&message.message, delay).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "a message comes again only after the visibility time-out"
            );
        }
    }
}
