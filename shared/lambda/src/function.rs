//! The function that this one may call.

use std::sync::Arc;

use async_trait::async_trait;
use aws::{Clients, LambdaFunction, ResourceNames, SystemClock};
use bytes::Bytes;
use domain::PortError;
use domain::ports::{FunctionCaller, PortResult};
use tokio::sync::OnceCell;

use crate::read_variable;

/// Returns the function whose name is in this variable of the environment, or `None` if there is
/// none. It is connected to by the first call.
pub fn called_function(variable: &str) -> Option<Arc<dyn FunctionCaller>> {
    let name = read_variable(variable).filter(|name| !name.is_empty())?;
    Some(Arc::new(CalledFunction {
        name,
        connected: OnceCell::new(),
    }))
}

#[derive(Debug)]
struct CalledFunction {
    name: String,
    connected: OnceCell<LambdaFunction>,
}

impl CalledFunction {
    async fn connect(&self) -> PortResult<LambdaFunction> {
        let config = aws::load_config().await;
        let names = ResourceNames::from_environment(read_variable)
            .map_err(|error| PortError::Internal(error.into()))?;
        Ok(LambdaFunction::new(
            &config,
            &Clients::new(&config),
            &names,
            Arc::new(SystemClock),
            self.name.clone(),
        ))
    }
}

#[async_trait]
impl FunctionCaller for CalledFunction {
    async fn call(&self, request: Bytes) -> PortResult<Bytes> {
        let function = self.connected.get_or_try_init(|| self.connect()).await?;
        function.call(request).await
    }
}
