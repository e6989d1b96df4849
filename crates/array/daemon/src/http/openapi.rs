//! OpenAPI 3.1 document, generated from the handlers. A copy is checked in, so that reviews show
//! every change of the interface.

use axum::http::header;
use axum::response::IntoResponse;
use std::sync::OnceLock;
use utoipa::openapi::{ContentBuilder, Info, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

/// Returns the document without its resources.
pub(super) fn frame() -> OpenApi {
    let mut info = Info::new("Windlass", crate::VERSION);
    info.description = Some("Administration of a Windlass storage array.".to_owned());
    OpenApiBuilder::new().info(info).build()
}

/// Returns the whole document as JSON with a final newline.
pub fn openapi_json() -> String {
    let mut document = super::resources().split_for_parts().1;
    add_problems(&mut document);
    serde_json::to_string_pretty(&document).map(|text| text + "\n").unwrap_or_default()
}

/// Handler of `/api/v1/openapi.json`.
pub(super) async fn show() -> impl IntoResponse {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.get_or_init(openapi_json).as_str())
}

/// Adds the problem document as a response of every operation.
fn add_problems(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let mut nested = Vec::new();
    api::Problem::schemas(&mut nested);
    nested.push((api::Problem::name().into_owned(), api::Problem::schema()));
    components.schemas.extend(nested);
    let content = ContentBuilder::new().schema(Some(RefOr::Ref(Ref::from_schema_name("Problem")))).build();
    let response =
        ResponseBuilder::new().description("A problem document").content("application/problem+json", content).build();
    for item in document.paths.paths.values_mut() {
        let PathItem { get, put, post, delete, patch, .. } = item;
        for operation in [get, put, post, delete, patch].into_iter().flatten() {
            operation.responses.responses.insert("default".to_owned(), RefOr::T(response.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::openapi_json;
    use std::path::Path;

    /// `WINDLASS_UPDATE_OPENAPI=1 cargo test -p daemon openapi` rewrites the copy.
    #[test]
    fn the_checked_in_copy_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../openapi/windlass.json");
        let document = openapi_json();
        if std::env::var_os("WINDLASS_UPDATE_OPENAPI").is_some() {
            std::fs::write(&path, &document).unwrap();
        }
        let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(checked_in == document, "openapi/windlass.json is not what the handlers say");
    }

    #[test]
    fn it_is_openapi_3_1_and_every_operation_has_problems() {
        let document: serde_json::Value = serde_json::from_str(&openapi_json()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(operation["responses"]["default"].is_object(), "{method} {path}");
            }
        }
    }
}
