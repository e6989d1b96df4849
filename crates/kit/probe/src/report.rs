//! Report of a probe, for display, for programs, and in the format of esxcli.

use crate::primitives::Verdict;
use crate::verdict::{self, Status};
use crate::{ProbeError, Subject};
use data_mover::{Device, Limits};
use serde_json::{Value, json};
use std::fmt::Write;
use text::terminal::{harmless, quoted};

/// Results for a logical unit.
#[derive(Debug)]
pub struct Report {
    /// T10 vendor identification.
    pub vendor: String,
    /// Product identification.
    pub product: String,
    /// Product revision level.
    pub revision: String,
    /// NAA designator in hexadecimal.
    pub naa: Option<String>,
    /// Size in bytes.
    pub size: u64,
    /// Size of a logical block in bytes.
    pub block_bytes: u32,
    /// LBPME.
    pub thin: bool,
    /// Limits that the unit announces.
    pub limits: Limits,
    /// Whether the primitives were tried.
    pub write_test: bool,
    /// Problems with the identification of the unit.
    pub problems: Vec<String>,
    /// Verdicts on the primitives; after [`Self::failed`], those obtained before.
    pub verdicts: Vec<Verdict>,
    /// Error that ended the write test early, or kept the range from being restored.
    pub failed: Option<ProbeError>,
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).trim().to_owned()
}

impl Report {
    pub(crate) fn new(subject: &Subject, inquiry: &[u8], write_test: bool) -> Self {
        let identity = subject.identity();
        let naa = identity.naa_digits().map(|digits| format!("naa.{digits}"));
        let (vendor, product) = (text(inquiry.get(8..16)), text(inquiry.get(16..32)));
        let mut problems = Vec::new();
        if naa.is_none() {
            problems.push("no NAA designator of the logical unit in VPD page 83h: EXTENDED COPY cannot name it".into());
        }
        if vendor.is_empty() || product.is_empty() {
            problems.push("no vendor or product identification: claim rules cannot match".into());
        }
        if subject.other.identity().naa != identity.naa {
            problems.push("two sessions see different NAA designators at the same LUN".into());
        }
        if identity.block_bytes != 512 && identity.block_bytes != 4096 {
            problems.push(format!("logical blocks of {} bytes: hosts support 512 or 4096", identity.block_bytes));
        }
        Self {
            vendor,
            product,
            revision: text(inquiry.get(32..36)),
            naa,
            size: identity.blocks.saturating_mul(identity.block_bytes.into()),
            block_bytes: identity.block_bytes,
            thin: subject.unit.is_thin(),
            limits: identity.limits,
            write_test,
            problems,
            verdicts: Vec::new(),
            failed: None,
        }
    }

    /// Whether the unit has everything that a VMware host looks for.
    pub fn is_complete(&self) -> bool {
        let shown = self.verdicts.iter().filter(|verdict| verdict.primitive.esxcli_name().is_some());
        self.problems.is_empty()
            && self.failed.is_none()
            && shown.clone().count() == 4
            && shown.clone().all(|v| v.status == Status::Supported)
    }

    /// Command that binds VMware's plug-in to units like this; quoted for a shell.
    pub fn claim_rule(&self) -> String {
        format!(
            "esxcli storage core claimrule add --claimrule-class=VAAI -t vendor -V {} -M {} -P VMW_VAAIP_T10 -a",
            quoted(&self.vendor),
            quoted(&self.product)
        )
    }

    /// Formats the report as a table.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let naa = self.naa.as_deref().unwrap_or("no NAA designator");
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "Vendor {} · Product {} · Revision {} · {naa} · {} MiB · {} · blocks of {}",
            harmless(&self.vendor),
            harmless(&self.product),
            harmless(&self.revision),
            self.size >> 20,
            if self.thin { "thin" } else { "thick" },
            self.block_bytes
        );
        out.push_str(&verdict::headings());
        for verdict in &self.verdicts {
            out.push_str(&verdict.line(verdict.primitive.name()));
        }
        for problem in &self.problems {
            let _ = writeln!(out, "problem       {}", harmless(problem));
        }
        let view: Vec<String> = self
            .verdicts
            .iter()
            .filter_map(|v| {
                Some(format!("{} {}", v.primitive.esxcli_name()?.trim_end_matches(" Status"), word(v.status)))
            })
            .collect();
        let _ = writeln!(out, "ESXi view     {}", view.join(" · "));
        let _ = writeln!(out, "claim rule    {}", harmless(&self.claim_rule()));
        out
    }

    /// Formats the report like `esxcli storage core device vaai status get`.
    pub fn esxcli(&self) -> String {
        let mut out = format!("{}\n   VAAI Plugin Name: \n", self.naa.as_deref().unwrap_or("(no NAA designator)"));
        for verdict in &self.verdicts {
            if let Some(name) = verdict.primitive.esxcli_name() {
                let _ = writeln!(out, "   {name}: {}", word(verdict.status));
            }
        }
        out
    }

    /// Formats the report for programs.
    pub fn json(&self) -> String {
        let primitive = |verdict: &Verdict| verdict.json(verdict.primitive.name());
        let value: Value = json!({
            "vendor": self.vendor,
            "product": self.product,
            "revision": self.revision,
            "naa": self.naa,
            "size_bytes": self.size,
            "block_bytes": self.block_bytes,
            "thin": self.thin,
            "limits": limits(&self.limits),
            "write_test": self.write_test,
            "complete": self.is_complete(),
            "problems": self.problems,
            "failed": self.failed.as_ref().map(ToString::to_string),
            "claim_rule": self.claim_rule(),
            "primitives": self.verdicts.iter().map(primitive).collect::<Vec<_>>(),
        });
        format!("{value:#}\n")
    }
}

/// Limits of VPD page B0h and of RECEIVE COPY RESULTS: lengths in logical blocks. A limit that the
/// unit does not state is null.
fn limits(limits: &Limits) -> Value {
    let named = |number: u64| (number != u64::from(u32::MAX)).then_some(number);
    json!({
        "compare_and_write_blocks": limits.compare_and_write,
        "write_same_blocks": named(limits.write_same),
        "unmap_blocks": named(limits.unmap),
        "unmap_descriptors": named(limits.unmap_descriptors.into()),
        "unmap_granularity_blocks": limits.unmap_granularity,
        "copy_segment_blocks": limits.copy_segment,
        "copy_segments": limits.copy_segments,
    })
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Supported => "supported",
        Status::NotSupported => "unsupported",
        Status::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use crate::Primitive;

    fn report(vendor: &str, product: &str) -> Report {
        Report {
            vendor: vendor.into(),
            product: product.into(),
            revision: "\u{1b}[0m".into(),
            naa: None,
            size: 1 << 30,
            block_bytes: 512,
            thin: true,
            limits: Limits::default(),
            write_test: false,
            problems: vec!["\u{1b}[1m".into()],
            verdicts: vec![Verdict::new(Primitive::Ats, Status::Supported, "\u{1b}[2m")],
            failed: None,
        }
    }

    /// Regression: names from the unit reached the terminal and, with the claim rule, a shell.
    #[test]
    fn names_of_a_unit_control_neither_the_terminal_nor_a_shell() {
        let hostile = report("`reboot`", "$(id)'\u{1b}]0;x\u{7}\nESXi view   ATS");
        let table = hostile.table();
        assert!(table.chars().all(|c| c == '\n' || !c.is_control()), "{table:?}");
        assert_eq!(table.lines().filter(|line| line.starts_with("ESXi view")).count(), 1, "{table}");
        let rule = "-t vendor -V '`reboot`' -M '$(id)'\\''\\u{1b}]0;x\\u{7}\\nESXi view   ATS' -P VMW_VAAIP_T10 -a";
        assert!(table.contains(rule), "{table}");
        let plain = report("WINDLASS", "VOLUME").claim_rule();
        assert!(plain.ends_with("-t vendor -V 'WINDLASS' -M 'VOLUME' -P VMW_VAAIP_T10 -a"), "{plain}");
        // Programs get the unit's names unchanged.
        let json: Value = serde_json::from_str(&hostile.json()).unwrap();
        assert_eq!((json["product"].as_str(), json["vendor"].as_str()), (Some(&*hostile.product), Some("`reboot`")));
    }
}
