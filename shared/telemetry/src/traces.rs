//! The export of traces, as the standard variables of OpenTelemetry configure it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use opentelemetry::KeyValue;
use opentelemetry::global::set_text_map_propagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::{Context as LayerContext, Layer};
use tracing_subscriber::registry::LookupSpan;
use url::Url;

use crate::collector::Collector;

/// The longest time for which a process that ends waits for its last spans to be sent.
const STOP_TIME: Duration = Duration::from_secs(3);
/// The attribute of a resource with the name of its service.
const SERVICE_NAME: &str = "service.name";
/// The beginning of the service name that the SDK makes up if nothing is configured.
const UNKNOWN_SERVICE: &str = "unknown_service";

/// The destination of traces. The other variables of OpenTelemetry are read by its SDK: headers,
/// time-outs, the sampler, the name of the service and further attributes.
#[derive(Debug, Clone, Default)]
pub struct TraceSettings {
    /// The address of a collector, to which `/v1/traces` is added: `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: Option<String>,
    /// The whole address for traces, which wins: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`.
    pub traces_endpoint: Option<String>,
    /// The name of the service, unless `OTEL_SERVICE_NAME` is set.
    pub service_name: String,
}

impl TraceSettings {
    /// Returns the address to which spans are sent, or `None` if traces are off.
    fn address(&self) -> Result<Option<Url>> {
        let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let address = match (non_empty(&self.traces_endpoint), non_empty(&self.endpoint)) {
            (Some(address), _) => address,
            (None, Some(endpoint)) => format!("{}/v1/traces", endpoint.trim_end_matches('/')),
            (None, None) => return Ok(None),
        };

        let help = "the address of an OpenTelemetry collector, such as http://127.0.0.1:4318";
        let url = Url::parse(&address).with_context(|| format!("{address} is not {help}"))?;
        let is_http = matches!(url.scheme(), "http" | "https");
        ensure!(is_http, "{address} is not {help}");
        Ok(Some(url))
    }
}

/// The traces of a process. Without a collector they are off, and every method does nothing.
#[derive(Debug, Clone)]
pub struct Traces {
    provider: Option<SdkTracerProvider>,
}

impl Traces {
    /// Starts the export. Spans are collected, and sent every five seconds.
    pub(crate) fn start(settings: &TraceSettings) -> Result<Self> {
        let Some(address) = settings.address()? else {
            return Ok(Self { provider: None });
        };
        set_text_map_propagator(TraceContextPropagator::new());

        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(address)
            .with_http_client(Collector::new())
            .build()?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(describe_process(&settings.service_name))
            .build();
        Ok(Self {
            provider: Some(provider),
        })
    }

    /// Returns the layer that turns spans into traces.
    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let provider = self.provider.as_ref()?;
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("recollect"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false);
        let filter = dynamic_filter_fn(is_traced).with_max_level_hint(LevelFilter::DEBUG);
        Some(layer.with_filter(filter))
    }

    /// Sends what is collected. A Lambda function does so before each answer, because its process
    /// may not run again.
    pub async fn flush(&self) {
        let Some(provider) = self.provider.clone() else {
            return;
        };
        // The collector has reported a failure.
        tokio::task::spawn_blocking(move || provider.force_flush().ok())
            .await
            .ok();
    }

    /// Sends what is collected, within three seconds, and ends the export.
    pub async fn stop(self) {
        let Some(provider) = self.provider else {
            return;
        };
        tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(STOP_TIME).ok())
            .await
            .ok();
    }
}

/// Checks whether a span belongs into a trace: it is one of ours, or an operation of the AWS SDK
/// within one. The SDK's other spans and all events are left out.
fn is_traced<S>(metadata: &Metadata<'_>, context: &LayerContext<'_, S>) -> bool
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if !metadata.is_span() {
        return false;
    }
    let is_aws_operation = || {
        metadata.target().starts_with("aws_sdk_") && metadata.fields().field("rpc.method").is_some()
    };
    metadata.target() == spans::TARGET || (is_aws_operation() && context.lookup_current().is_some())
}

/// Returns the attributes of this process in traces.
fn describe_process(service_name: &str) -> Resource {
    let configured = Resource::builder().build();
    let name = configured.get(&SERVICE_NAME.into());
    let is_named = name.is_some_and(|name| !name.as_str().starts_with(UNKNOWN_SERVICE));

    let mut builder = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if !is_named {
        builder = builder.with_service_name(service_name.to_owned());
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(endpoint: &str, traces_endpoint: &str) -> Result<Option<String>> {
        let settings = TraceSettings {
            endpoint: Some(endpoint.into()),
            traces_endpoint: Some(traces_endpoint.into()),
            service_name: "test".into(),
        };
        Ok(settings.address()?.map(String::from))
    }

    #[test]
    fn the_address_of_the_collector_follows_the_standard_variables() {
        assert_eq!(address("", "").unwrap(), None);
        let both = "http://127.0.0.1:4318/v1/traces";
        assert_eq!(address("http://127.0.0.1:4318", "").unwrap().unwrap(), both);
        assert_eq!(
            address("http://127.0.0.1:4318/", "").unwrap().unwrap(),
            both
        );
        let own = address("http://127.0.0.1:4318", "https://traces.example/in");
        assert_eq!(own.unwrap().unwrap(), "https://traces.example/in");
        for wrong in ["collector:4318", "127.0.0.1:4318", "ftp://collector/"] {
            let error = address(wrong, "").unwrap_err().to_string();
            assert!(error.contains("OpenTelemetry collector"), "{error}");
        }
    }
}
