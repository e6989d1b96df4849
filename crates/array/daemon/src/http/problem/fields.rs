//! Fields of requests that conditions are about. A condition that can be about several fields has none here: it
//! names its field as a parameter.

use api::FieldProblem;

/// Codes of conditions, each with its field.
const FIELDS: &[(&str, &str)] = &[
    ("address-taken", "addresses"),
    ("initiator-name-taken", "iqns"),
    ("invalid-address", "addresses"),
    ("invalid-chap", "chap"),
    ("invalid-expiry", "expires"),
    ("invalid-initiator-name", "iqns"),
    ("invalid-lun", "lun"),
    ("invalid-mode", "mode"),
    ("invalid-quota", "quota_bytes"),
    ("invalid-reservation", "overwrite_reserve_percent"),
    ("invalid-scope", "scopes"),
    ("invalid-size", "size_bytes"),
    ("lun-taken", "lun"),
    ("no-protocol", "protocols"),
    ("not-thick", "overwrite_reserve_percent"),
    ("reshare-with-itself", "with"),
    ("size-missing", "size_bytes"),
    ("source-missing", "source"),
    ("weak-password", "password"),
    ("would-shrink", "size_bytes"),
    ("wrong-password", "present_password"),
];

/// Parameter of a condition that is its field.
const PARAMETER: &str = "field";

/// Fields that a condition is about, with its description.
pub(super) fn of(code: &str, detail: &str, parameters: &[(&str, String)]) -> Vec<FieldProblem> {
    let of_code = FIELDS.iter().filter(|(own, _)| *own == code).map(|(_, field)| *field);
    let of_condition = parameters.iter().filter(|(name, _)| *name == PARAMETER).map(|(_, field)| field.as_str());
    let problem = |field: &str| FieldProblem { field: field.to_owned(), message: detail.to_owned() };
    of_code.chain(of_condition).map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::FIELDS;
    use explain::{Kind, entry};

    /// A code that is renamed must not lose its field, and a field has to be one of a request.
    #[test]
    fn codes_are_explained_and_fields_are_those_of_requests() {
        let document = crate::http::openapi_json();
        assert!(FIELDS.is_sorted());
        for (code, field) in FIELDS {
            assert!(entry(Kind::Problem, code).is_some(), "{code} is not explained");
            assert!(document.contains(&format!("\"{field}\": {{")), "{field} is no field");
        }
    }
}
