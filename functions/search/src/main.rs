//! The Lambda function `search`.

use search::RecallService;

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, deployment| {
        let app = search::with_models(app, deployment);
        let routes = search::router(
            app.clone(),
            search::network_cache(search::LAMBDA_CACHE_BYTES),
        );
        Ok(match RecallService::from_environment() {
            Some(service) => service.forward_requests(routes, app),
            None => routes,
        })
    })
}
