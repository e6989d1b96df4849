//! OpenAPI 3.1 document, generated from the handlers. A copy is checked in, so that reviews show
//! every change of the interface.

use crate::http::operations::{self, Needs};
use axum::http::header;
use axum::response::IntoResponse;
use std::collections::HashMap;
use std::sync::OnceLock;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::Type;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Content, ContentBuilder, Header, Info, ObjectBuilder, OneOfBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr,
    Required, Response, ResponseBuilder, Schema,
};
use utoipa::{IntoParams, ToSchema};

/// Name of the security scheme of tokens.
const BEARER: &str = "bearer";
/// Name of the security scheme of sign-ins.
const COOKIE: &str = "cookie";
/// Path of the document.
pub(super) const PATH: &str = "/api/v1/openapi.json";

/// Returns the document without its resources.
pub(super) fn frame() -> OpenApi {
    let mut info = Info::new("Windlass", crate::VERSION);
    info.description = Some("Administration of a Windlass storage array.".to_owned());
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token, such as that in STATE_DIR/admin.token. The administrative socket needs none."));
    let about = "The cookie of a sign-in. Changes also need the header `Windlass-CSRF` and an `Origin` of the array.";
    let cookie = ApiKeyValue::with_description(super::cookie::NAME, about);
    let schemes = [BEARER, COOKIE].map(|name| SecurityRequirement::new::<_, [&str; 0], &str>(name, []));
    let mut document = OpenApiBuilder::new().info(info).security(Some(schemes)).build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer.build()));
    components.add_security_scheme(COOKIE, SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    document
}

/// Returns the whole document as JSON with a final newline.
pub fn openapi_json() -> String {
    let mut document = super::resources().split_for_parts().1;
    add_problems(&mut document);
    add_live_events(&mut document);
    add_tags(&mut document);
    add_roles(&mut document);
    add_dry_runs(&mut document);
    add_keys(&mut document);
    serde_json::to_string_pretty(&document).map(|text| text + "\n").unwrap_or_default()
}

/// Handler of `/api/v1/openapi.json`.
pub(super) async fn show() -> impl IntoResponse {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.get_or_init(openapi_json).as_str())
}

/// Adds a type and all types that it contains.
fn add_schema<T: ToSchema>(document: &mut OpenApi) {
    let mut nested = Vec::new();
    T::schemas(&mut nested);
    nested.push((T::name().into_owned(), T::schema()));
    document.components.get_or_insert_default().schemas.extend(nested);
}

/// Adds the data of the events of a live stream, which no response names.
fn add_live_events(document: &mut OpenApi) {
    add_schema::<api::LiveHello>(document);
    add_schema::<api::LiveChange>(document);
    add_schema::<api::LiveLagged>(document);
    add_schema::<api::LiveAlertEnded>(document);
    add_schema::<api::LiveBye>(document);
}

/// Operations of a path.
fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// Rows of the table of operations, by path and method.
pub(super) type Paths = HashMap<String, HashMap<&'static str, &'static operations::Operation>>;

/// Returns the rows of all paths.
pub(super) fn paths() -> Paths {
    let document = super::resources().split_for_parts().1;
    let mut paths = Paths::new();
    for (path, item) in document.paths.paths {
        let PathItem { get, put, post, delete, patch, .. } = item;
        let methods = [("GET", get), ("PUT", put), ("POST", post), ("DELETE", delete), ("PATCH", patch)];
        for (method, operation) in methods {
            let name = operation.and_then(|operation| operation.operation_id);
            if let Some(row) = name.as_deref().and_then(operations::named) {
                paths.entry(path.clone()).or_default().insert(method, row);
            }
        }
    }
    paths
}

/// Adds to each operation what it needs: `x-role`, and no security where it needs nothing.
fn add_roles(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in self::operations(item) {
            let Some(row) = operation.operation_id.as_deref().and_then(operations::named) else { continue };
            operation.extensions = Some(ExtensionsBuilder::new().add("x-role", row.role()).build());
            if row.needs == Needs::Nothing {
                operation.security = Some(vec![SecurityRequirement::default()]);
            }
        }
    }
}

/// Adds the parameter `dry_run` to each operation that has a dry run, and its answer to the responses.
fn add_dry_runs(document: &mut OpenApi) {
    add_schema::<api::Effect>(document);
    let effect = || RefOr::Ref(Ref::from_schema_name("Effect"));
    for item in document.paths.paths.values_mut() {
        for operation in self::operations(item) {
            let row = operation.operation_id.as_deref().and_then(operations::named);
            if !row.is_some_and(|row| row.has_dry_run) {
                continue;
            }
            operation
                .parameters
                .get_or_insert_default()
                .extend(api::DryRun::into_params(|| None).into_iter().map(RefOr::T));
            let response = operation.responses.responses.entry("200".to_owned()).or_insert_with(|| {
                RefOr::T(ResponseBuilder::new().description("What the change would do (`dry_run`)").build())
            });
            let RefOr::T(response) = response else { continue };
            let content = response.content.entry("application/json".to_owned());
            let RefOr::T(content) = content.or_insert_with(|| RefOr::T(Content::default())) else { continue };
            content.schema = Some(match content.schema.take() {
                None => effect(),
                Some(other) => RefOr::T(Schema::OneOf(OneOfBuilder::new().item(other).item(effect()).build())),
            });
        }
    }
}

/// Adds the header `Idempotency-Key` to each change by POST.
fn add_keys(document: &mut OpenApi) {
    let about = "Text of 1 to 255 visible characters. A repeat with the same key, by the same caller within 24 hours, \
                 gets the same answer and changes nothing; another request with it is refused \
                 (`idempotency-key-reused`). A restart of the array forgets keys.";
    let text = ObjectBuilder::new().schema_type(Type::String).max_length(Some(255)).build();
    for item in document.paths.paths.values_mut() {
        let Some(post) = &mut item.post else { continue };
        let row = post.operation_id.as_deref().and_then(operations::named);
        if row.is_some_and(|row| row.needs != Needs::Nothing && row.is_change("POST")) {
            let parameter = ParameterBuilder::new().name("Idempotency-Key").parameter_in(ParameterIn::Header);
            let parameter = parameter.description(Some(about)).required(Required::False).schema(Some(text.clone()));
            post.parameters.get_or_insert_default().push(RefOr::T(parameter.build()));
        }
    }
}

/// A response with a problem document.
fn problem(description: &str) -> RefOr<Response> {
    let content = ContentBuilder::new().schema(Some(RefOr::Ref(Ref::from_schema_name("Problem")))).build();
    RefOr::T(ResponseBuilder::new().description(description).content("application/problem+json", content).build())
}

/// Adds the response 412 to each operation that has a condition, and the header `ETag` to the answers with an
/// object: of these operations, and of the read of that object.
fn add_tags(document: &mut OpenApi) {
    let changed = problem("The object has changed (`changed-meanwhile`)");
    for item in document.paths.paths.values_mut() {
        let is_condition = |parameter: &RefOr<Parameter>| match parameter {
            RefOr::T(parameter) => parameter.name == "If-Match",
            RefOr::Ref(_) => false,
        };
        if !operations(item).any(|operation| operation.parameters.iter().flatten().any(is_condition)) {
            continue;
        }
        for operation in operations(item) {
            if operation.parameters.iter().flatten().any(is_condition) {
                operation.responses.responses.insert("412".to_owned(), changed.clone());
            }
            if let Some(RefOr::T(response)) = operation.responses.responses.get_mut("200") {
                let mut header = Header::default();
                header.description = Some("Tag of the object, for `If-Match`".to_owned());
                response.headers.insert("ETag".to_owned(), RefOr::T(header));
            }
        }
    }
}

/// Adds the problem document as a response of every operation.
fn add_problems(document: &mut OpenApi) {
    add_schema::<api::Problem>(document);
    let response = problem("A problem document");
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            operation.responses.responses.insert("default".to_owned(), response.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::openapi_json;
    use std::collections::BTreeSet;
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

    fn document() -> serde_json::Value {
        serde_json::from_str(&openapi_json()).unwrap()
    }

    /// Generated clients have a function for each operation.
    #[test]
    fn every_operation_has_its_own_name() {
        let mut names = BTreeSet::new();
        for (path, item) in document()["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no name"));
                let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
                assert!(name.contains('_') && name.split('_').all(is_word), "{name}");
                assert!(names.insert(name.to_owned()), "{name} is the name of two operations");
            }
        }
        assert!(names.len() >= 60, "{} operations", names.len());
    }

    #[test]
    fn every_operation_says_its_role_and_few_need_none() {
        let document = document();
        assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
        assert_eq!(document["components"]["securitySchemes"]["cookie"]["name"], "__Host-windlass");
        assert_eq!(document["security"], serde_json::json!([{ "bearer": [] }, { "cookie": [] }]));
        let mut open = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let role = operation["x-role"].as_str().unwrap_or_else(|| panic!("{method} {path} has no role"));
                let expected = if role == "none" { Some(serde_json::json!([{}])) } else { None };
                assert_eq!(operation.get("security"), expected.as_ref(), "{method} {path}");
                open.extend((role == "none").then(|| operation["operationId"].as_str().unwrap().to_owned()));
            }
        }
        assert_eq!(open.into_iter().collect::<Vec<_>>(), ["health_show", "setup_run", "setup_show", "signin_begin"]);
    }

    /// The events of a stream were named in a description only, and tags nowhere.
    #[test]
    fn events_of_a_stream_and_tags_are_described() {
        let document = document();
        for event in ["Hello", "Change", "Lagged", "AlertEnded", "Bye"] {
            assert!(document["components"]["schemas"][format!("Live{event}")]["properties"].is_object(), "{event}");
        }
        let paths = document["paths"].as_object().unwrap();
        assert!(paths["/api/v1/live"]["get"]["responses"]["429"].is_object());
        let has_tag = |path: &str, method: &str| paths[path][method]["responses"]["200"]["headers"]["ETag"].is_object();
        for noun in ["volume", "share", "snapshot", "host"] {
            assert!(has_tag(&format!("/api/v1/{noun}s/{{{noun}}}"), "get"), "{noun}");
        }
        assert!(has_tag("/api/v1/volumes/{volume}", "patch") && has_tag("/api/v1/shares/{share}/rollback", "post"));
        assert!(!has_tag("/api/v1/volumes", "get"));
    }

    /// Numbers with a range say which: the bounds of their type are wider.
    #[test]
    fn ranges_of_requests_are_those_of_the_array() {
        let document = document();
        let maximum = |schema: &str, field: &str| {
            document["components"]["schemas"][schema]["properties"][field]["maximum"].as_u64()
        };
        assert_eq!(maximum("AccessGrant", "lun"), Some(16_383));
        for (schema, fields) in document["components"]["schemas"].as_object().unwrap() {
            let is_request = fields["additionalProperties"] == false;
            for (field, _) in fields["properties"].as_object().into_iter().flatten() {
                if is_request && field.ends_with("_percent") && !field.starts_with("commitment_") {
                    assert_eq!(maximum(schema, field), Some(100), "{schema}.{field}");
                }
            }
        }
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
