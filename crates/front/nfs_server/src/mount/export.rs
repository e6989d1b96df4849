//! EXPORT, RFC 1813 appendix I §5.2.5.

use super::sees;
use crate::access::{Hosts, Rule};
use crate::v3::context::Context;
use nfs::mount::{Export, Name};

/// The shares that the caller may use, each with the clients that its rules name.
pub(super) fn execute<F>(context: &Context<'_, F>) -> Vec<Export> {
    let shares = context.shares();
    let visible = shares.iter().filter(|share| sees(context, share));
    visible
        .map(|share| {
            let path = [b"/", share.name.as_bytes()].concat();
            let groups: Vec<Name> = share.rules.0.iter().flat_map(groups).map(|name| name.as_str().into()).collect();
            Export { directory: path.into(), groups: groups.into() }
        })
        .collect()
}

/// Clients of a rule.
fn groups(rule: &Rule) -> Vec<String> {
    match &rule.hosts {
        Hosts::Host(addresses) | Hosts::Group(addresses) => addresses.iter().map(ToString::to_string).collect(),
        Hosts::Network(network) => vec![network.to_string()],
        Hosts::Any => vec!["*".to_owned()],
    }
}
