//! The table of operations: what each one needs. The guard reads it for every request, and the
//! OpenAPI document says it. Paths, parameters and types of an operation are beside its handler.

use crate::http::MAX_BODY_BYTES;
use crate::laboratory::MAX_RESULTS_BYTES;
use identity::Role;

/// Facts of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// Id in the OpenAPI document: noun and verb.
    pub(super) name: &'static str,
    /// Role that the caller needs.
    pub(super) needs: Needs,
    /// Volumes that it is about: whether a token with a scope of volumes may use it.
    pub(super) volumes: Volumes,
    /// True if it says with `dry_run=true` what it would do.
    pub(super) has_dry_run: bool,
    /// What the audit has of it.
    audited: Audited,
    /// Largest body of a request in bytes.
    pub(super) body_bytes: usize,
    /// True if it is what a token for metrics is for.
    pub(super) is_scrape: bool,
    /// True if a request puts the end of a sign-in off. A stream runs by itself, and is no use.
    pub(super) is_use: bool,
    /// True if pages of others, and pages under other names, may cause it.
    pub(super) is_for_any_page: bool,
}

/// What the audit has of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audited {
    /// Intent and result, unless its method only reads.
    Change,
    /// Nothing: it reads, whatever its method.
    Question,
    /// What its handler records.
    Itself,
}

/// Role that the caller of an operation needs at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Anybody.
    Nothing,
    /// Any caller with credentials, also one who has to change the password.
    Credentials,
    /// Caller with this role or a later one.
    Role(Role),
    /// The user that the path names, or a caller with this role.
    Own(Role),
}

/// Where an operation names volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Volumes {
    /// It shows nothing of a single volume.
    None,
    /// Other objects: not for tokens with a scope of volumes.
    Others,
    /// The parameter `volume` or `snapshot` of the path names it, and fields of the body, if present.
    Path(&'static [&'static str]),
    /// Fields of the body name it.
    Body(&'static [&'static str]),
    /// The parameter `volume` of the query names it.
    Query,
    /// The job that the path names by its whole id is about it.
    Job,
    /// The answer has grants of volumes: its handler leaves those out that are not in the scope.
    Grants,
}

const fn operation(name: &'static str, needs: Needs, volumes: Volumes) -> Operation {
    Operation {
        name,
        needs,
        volumes,
        has_dry_run: false,
        audited: Audited::Change,
        body_bytes: MAX_BODY_BYTES,
        is_scrape: false,
        is_use: true,
        is_for_any_page: false,
    }
}

const fn row(name: &'static str, role: Role, volumes: Volumes) -> Operation {
    operation(name, Needs::Role(role), volumes)
}

const fn special(name: &'static str, needs: Needs) -> Operation {
    operation(name, needs, Volumes::Others)
}

/// Row of a change that says with `dry_run=true` what it would do.
const fn rehearsed(name: &'static str, role: Role, volumes: Volumes) -> Operation {
    Operation { has_dry_run: true, ..row(name, role, volumes) }
}

/// Row of a question whose request has a body.
const fn question(name: &'static str, role: Role) -> Operation {
    Operation { audited: Audited::Question, ..row(name, role, Volumes::Others) }
}

/// Row of the metrics.
const fn scrape(name: &'static str) -> Operation {
    Operation { is_scrape: true, ..row(name, Viewer, Volumes::Others) }
}

use Role::{Admin, Operator, Viewer};

/// Volume in the path alone.
const PATH: Volumes = Volumes::Path(&[]);

/// All operations, by name.
const OPERATIONS: &[Operation] = &[
    row("access_grant", Operator, Volumes::Body(&["volume"])),
    row("access_list", Viewer, Volumes::Query),
    rehearsed("access_revoke", Operator, PATH),
    rehearsed("access_revoke_all", Operator, PATH),
    row("alert_acknowledge", Operator, Volumes::Others),
    row("alert_list", Viewer, Volumes::Others),
    row("alert_unacknowledge", Operator, Volumes::Others),
    row("audit_export", Admin, Volumes::Others),
    row("audit_list", Admin, Volumes::Others),
    row("audit_verify", Admin, Volumes::Others),
    row("bundle_contents", Admin, Volumes::Others),
    row("bundle_create", Admin, Volumes::Others),
    row("bundle_delete", Admin, Volumes::Others),
    row("bundle_download", Admin, Volumes::Others),
    row("bundle_list", Admin, Volumes::Others),
    row("capabilities_show", Viewer, Volumes::None),
    row("channel_create", Admin, Volumes::Others),
    rehearsed("channel_delete", Admin, Volumes::Others),
    row("channel_list", Admin, Volumes::Others),
    row("channel_set", Admin, Volumes::Others),
    row("channel_show", Admin, Volumes::Others),
    row("channel_test", Admin, Volumes::Others),
    row("code_list", Viewer, Volumes::None),
    row("code_show", Viewer, Volumes::None),
    row("config_applied", Admin, Volumes::Others),
    row("config_apply", Admin, Volumes::Others),
    row("config_export", Admin, Volumes::Others),
    row("config_history", Admin, Volumes::Others),
    row("config_history_show", Admin, Volumes::Others),
    question("config_plan", Admin),
    row("config_secrets", Admin, Volumes::Others),
    row("connect_plan", Viewer, Volumes::Others),
    row("connect_state", Viewer, Volumes::Others),
    row("connect_systems", Viewer, Volumes::None),
    row("doctor_list", Operator, Volumes::Others),
    row("event_list", Viewer, Volumes::Others),
    rehearsed("export_grant", Operator, Volumes::Others),
    row("export_list", Viewer, Volumes::Others),
    rehearsed("export_revoke", Operator, Volumes::Others),
    rehearsed("export_revoke_all", Operator, Volumes::Others),
    row("file_create", Operator, Volumes::Others),
    row("file_list", Viewer, Volumes::Others),
    rehearsed("file_set", Operator, Volumes::Others),
    row("file_show", Viewer, Volumes::Others),
    Operation { is_for_any_page: true, ..special("health_show", Needs::Nothing) },
    row("history_series", Viewer, Volumes::Others),
    row("history_show", Viewer, Volumes::Others),
    row("host_create", Operator, Volumes::Others),
    rehearsed("host_delete", Operator, Volumes::Others),
    row("host_group_create", Operator, Volumes::Others),
    rehearsed("host_group_delete", Operator, Volumes::Others),
    row("host_group_list", Viewer, Volumes::Others),
    rehearsed("host_group_set", Operator, Volumes::Others),
    row("host_group_show", Viewer, Volumes::Others),
    row("host_list", Viewer, Volumes::Grants),
    row("host_set", Operator, Volumes::Others),
    row("host_show", Viewer, Volumes::Grants),
    row("job_cancel", Operator, Volumes::Others),
    row("job_list", Viewer, Volumes::Others),
    row("job_set", Operator, Volumes::Others),
    row("job_show", Viewer, Volumes::Job),
    row("lab_case_list", Viewer, Volumes::Others),
    Operation { body_bytes: MAX_RESULTS_BYTES, ..row("lab_result_upload", Operator, Volumes::Others) },
    row("lab_run_cancel", Operator, Volumes::Others),
    row("lab_run_list", Viewer, Volumes::Others),
    row("lab_run_report", Viewer, Volumes::Others),
    row("lab_run_results", Viewer, Volumes::Others),
    row("lab_run_show", Viewer, Volumes::Others),
    row("lab_run_start", Operator, Volumes::Others),
    question("live_set", Viewer),
    Operation { is_use: false, ..row("live_show", Viewer, Volumes::Others) },
    row("login_list", Viewer, Volumes::Others),
    scrape("metrics_show"),
    scrape("metrics_volumes"),
    row("nfs_client_expire", Operator, Volumes::Others),
    row("nfs_client_list", Viewer, Volumes::Others),
    row("nfs_grace_show", Viewer, Volumes::Others),
    row("nfs_lock_list", Viewer, Volumes::Others),
    row("offload_log", Viewer, Volumes::Others),
    row("offload_statistics", Viewer, Volumes::Others),
    row("offload_totals", Viewer, Volumes::Others),
    row("pool_check", Operator, Volumes::Others),
    row("pool_forecast", Viewer, Volumes::None),
    row("pool_frees", Viewer, Volumes::Others),
    row("pool_grow", Admin, Volumes::Others),
    row("pool_list", Viewer, Volumes::None),
    rehearsed("pool_reclaim", Operator, Volumes::Others),
    row("pool_scrub", Operator, Volumes::Others),
    row("pool_set", Admin, Volumes::Others),
    row("pool_show", Viewer, Volumes::None),
    row("portal_groups", Viewer, Volumes::None),
    row("portal_list", Viewer, Volumes::None),
    row("portal_set", Admin, Volumes::Others),
    row("portal_set_group", Admin, Volumes::Others),
    row("portal_show", Viewer, Volumes::None),
    row("portal_show_group", Viewer, Volumes::None),
    row("qos_policy_attach", Operator, Volumes::Others),
    row("qos_policy_create", Operator, Volumes::Others),
    rehearsed("qos_policy_delete", Operator, Volumes::Others),
    row("qos_policy_detach", Operator, Volumes::Others),
    row("qos_policy_list", Viewer, Volumes::Others),
    row("qos_policy_set", Operator, Volumes::Others),
    row("qos_policy_show", Viewer, Volumes::Others),
    rehearsed("reservation_clear", Operator, PATH),
    row("reservation_list", Viewer, Volumes::Query),
    row("sample_latest", Viewer, Volumes::Others),
    row("schedule_create", Operator, Volumes::Others),
    rehearsed("schedule_delete", Operator, Volumes::Others),
    row("schedule_list", Viewer, Volumes::Others),
    question("schedule_preview", Viewer),
    row("schedule_run", Operator, Volumes::Others),
    row("schedule_set", Operator, Volumes::Others),
    row("schedule_show", Viewer, Volumes::Others),
    row("search_list", Viewer, Volumes::Others),
    rehearsed("session_delete", Operator, Volumes::Others),
    row("session_list", Viewer, Volumes::Others),
    row("setup_code", Admin, Volumes::Others),
    Operation { audited: Audited::Itself, ..special("setup_run", Needs::Nothing) },
    special("setup_show", Needs::Nothing),
    row("share_create", Operator, Volumes::Others),
    rehearsed("share_delete", Operator, Volumes::Others),
    row("share_exports", Viewer, Volumes::Others),
    row("share_host_show", Viewer, Volumes::Others),
    row("share_io", Viewer, Volumes::Others),
    row("share_list", Viewer, Volumes::Others),
    row("share_offload", Viewer, Volumes::Others),
    rehearsed("share_rollback", Operator, Volumes::Others),
    rehearsed("share_set", Operator, Volumes::Others),
    row("share_show", Viewer, Volumes::Others),
    row("share_snapshot_create", Operator, Volumes::Others),
    row("share_snapshots", Viewer, Volumes::Others),
    row("share_space", Viewer, Volumes::Others),
    Operation { audited: Audited::Itself, ..special("signin_begin", Needs::Nothing) },
    rehearsed("signin_delete", Admin, Volumes::Others),
    special("signin_end", Needs::Credentials),
    row("signin_list", Admin, Volumes::Others),
    Operation { volumes: Volumes::None, ..special("signin_show", Needs::Credentials) },
    row("snapshot_create", Operator, Volumes::Body(&["volumes"])),
    rehearsed("snapshot_delete", Operator, PATH),
    row("snapshot_list", Viewer, Volumes::Query),
    row("snapshot_lock", Operator, PATH),
    row("snapshot_pin", Operator, PATH),
    row("snapshot_show", Viewer, PATH),
    question("space_what_if", Viewer),
    row("system_show", Viewer, Volumes::None),
    row("token_create", Admin, Volumes::Others),
    rehearsed("token_delete", Admin, Volumes::Others),
    row("token_list", Admin, Volumes::Others),
    row("token_show", Admin, Volumes::Others),
    rehearsed("trash_delete", Admin, Volumes::Others),
    rehearsed("trash_empty", Admin, Volumes::Others),
    row("trash_list", Viewer, Volumes::Others),
    row("trash_restore", Operator, Volumes::Others),
    row("user_create", Admin, Volumes::Others),
    rehearsed("user_delete", Admin, Volumes::Others),
    row("user_list", Admin, Volumes::Others),
    special("user_password", Needs::Own(Admin)),
    row("user_set", Admin, Volumes::Others),
    special("user_show", Needs::Own(Admin)),
    row("volume_create", Operator, Volumes::Body(&["name", "source"])),
    rehearsed("volume_delete", Operator, PATH),
    row("volume_list", Viewer, Volumes::Others),
    row("volume_offload", Viewer, PATH),
    rehearsed("volume_reclaim", Operator, PATH),
    row("volume_reservations", Viewer, PATH),
    row("volume_reshare", Operator, Volumes::Path(&["with"])),
    rehearsed("volume_rollback", Operator, PATH),
    rehearsed("volume_set", Operator, Volumes::Path(&["name"])),
    row("volume_show", Viewer, PATH),
    row("volume_snapshot_create", Operator, PATH),
    row("volume_snapshots", Viewer, PATH),
    row("volume_space", Viewer, PATH),
    row("volume_tree", Viewer, PATH),
];

/// The OpenAPI document itself, which it does not contain.
pub(super) const DOCUMENT: Operation = row("openapi_show", Viewer, Volumes::None);

impl Operation {
    /// Noun of its name.
    pub(super) fn noun(&self) -> &'static str {
        self.name.rsplit_once('_').map_or(self.name, |(noun, _)| noun)
    }

    /// True if the operation changes something that the audit records.
    pub(super) fn is_change(&self, method: &str) -> bool {
        !matches!(method, "GET" | "HEAD") && self.audited == Audited::Change
    }

    /// Word of what it needs, for the OpenAPI document.
    pub(super) const fn role(&self) -> &'static str {
        match self.needs {
            Needs::Nothing => "none",
            Needs::Credentials => "any",
            Needs::Role(role) | Needs::Own(role) => role.name(),
        }
    }
}

/// Operation of an id.
pub(super) fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.binary_search_by(|row| row.name.cmp(name)).ok().and_then(|at| OPERATIONS.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(OPERATIONS.is_sorted_by(|one, other| one.name < other.name));
        assert!(OPERATIONS.iter().all(|row| named(row.name) == Some(row)));
    }

    /// What deletes, rolls back, revokes or reclaims has a dry run, except what only ends work, clients of NFS, whose
    /// files `control` does not know, and support bundles, which nothing depends on and which go by themselves.
    #[test]
    fn what_destroys_can_be_rehearsed() {
        let verbs = ["_delete", "_revoke", "_revoke_all", "_rollback", "_reclaim", "_empty"];
        for operation in OPERATIONS {
            let destroys = verbs.iter().any(|verb| operation.name.ends_with(verb));
            assert!(operation.has_dry_run || !destroys || operation.name == "bundle_delete", "{}", operation.name);
        }
    }

    /// Only an admin can gain or give rights.
    #[test]
    fn rights_are_given_by_admins() {
        for operation in OPERATIONS {
            let is_of_people = ["user_", "token_", "signin_", "audit_", "setup_code", "channel_", "config_", "bundle_"];
            if is_of_people.iter().any(|start| operation.name.starts_with(start)) {
                let special = ["signin_begin", "signin_end", "signin_show"].contains(&operation.name);
                assert!(special || operation.role() == "admin", "{}", operation.name);
            }
            let verbs = ["_create", "_delete", "_set", "_grant", "_revoke", "_cancel", "_rollback", "_expire"];
            if verbs.iter().any(|verb| operation.name.ends_with(verb)) && operation.is_change("POST") {
                assert!(matches!(operation.needs, Needs::Role(Operator | Admin)), "{}", operation.name);
            }
        }
    }
}
