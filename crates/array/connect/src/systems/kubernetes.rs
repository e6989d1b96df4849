//! Kubernetes: a static volume and its claim.

use super::{first, only_initiator, step, watch};
use crate::quote::{file, sh, yaml};
use crate::{CHAP_SECRET, Facts, Shell, Step, System};

const PLACE: &str = "where kubectl is";
const GIB: u64 = 1 << 30;

pub(crate) fn steps(facts: &Facts) -> Vec<Step> {
    let name = object_name(&facts.volume);
    let mut steps = vec![step(
        "nodes",
        "iSCSI initiator of each node",
        "The kubelet logs in with the node's open-iscsi. All nodes may use the volume under the host's name.",
        "on each node, as root",
        vec![sh(&["systemctl", "enable", "--now", "iscsid"])],
    )];
    if let Some(chap) = &facts.chap {
        steps.push(Step {
            undo: vec![sh(&["kubectl", "delete", "-f", "windlass-secret.yaml"])],
            ..step(
                "chap",
                "CHAP",
                "The kubelet reads user and secret from this object. Its namespace is that of the kubelet's volumes.",
                PLACE,
                vec![
                    file(Shell::Yaml, "windlass-secret.yaml", secret(&name, &chap.user)),
                    sh(&["kubectl", "apply", "-f", "windlass-secret.yaml"]),
                ],
            )
        });
    }
    steps.push(Step {
        undo: vec![sh(&["kubectl", "delete", "-f", "windlass-volume.yaml"])],
        ..step(
            "volume",
            "Volume and claim",
            "One node at a time mounts the volume. Deleting the claim keeps the data.",
            PLACE,
            vec![
                file(Shell::Yaml, "windlass-volume.yaml", volume(facts, &name)),
                sh(&["kubectl", "apply", "-f", "windlass-volume.yaml"]),
            ],
        )
    });
    steps.push(step(
        "check",
        "Check",
        "Both are Bound; the login follows when a pod uses the claim.",
        PLACE,
        vec![sh(&["kubectl", "get", &format!("pv/{name}"), &format!("pvc/{name}"), "-o", "wide"])],
    ));
    steps.push(watch(System::Kubernetes, facts));
    steps
}

fn secret(name: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {}\ntype: kubernetes.io/iscsi-chap\nstringData:\n  \
         node.session.auth.username: {}\n  node.session.auth.password: {}\n",
        yaml(name),
        yaml(user),
        yaml(CHAP_SECRET)
    )
}

fn volume(facts: &Facts, name: &str) -> String {
    let mut text = format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: {}\nspec:\n  capacity:\n    storage: {}\n  \
         accessModes: [\"ReadWriteOnce\"]\n  persistentVolumeReclaimPolicy: Retain\n  storageClassName: \"\"\n  \
         mountOptions: [\"discard\"]\n  iscsi:\n    targetPortal: {}\n",
        yaml(name),
        yaml(&capacity(facts)),
        yaml(first(facts))
    );
    if facts.portals.len() > 1 {
        let others: Vec<String> = facts.portals.iter().skip(1).map(|portal| yaml(portal)).collect();
        text += &format!("    portals: [{}]\n", others.join(", "));
    }
    // The number of a volume that is not granted is not known; kubectl refuses the placeholder.
    text += &format!("    iqn: {}\n    lun: {}\n    fsType: xfs\n", yaml(&facts.target), super::lun(facts));
    if let Some(initiator) = only_initiator(facts) {
        text += &format!("    initiatorName: {}\n", yaml(initiator));
    }
    if facts.chap.is_some() {
        text += &format!("    chapAuthSession: true\n    secretRef:\n      name: {}\n", yaml(name));
    }
    text += &format!(
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: {}\nspec:\n  accessModes: \
         [\"ReadWriteOnce\"]\n  storageClassName: \"\"\n  volumeName: {}\n  resources:\n    requests:\n      storage: {}\n",
        yaml(name),
        yaml(name),
        yaml(&capacity(facts))
    );
    text
}

/// Capacity as Kubernetes writes it.
fn capacity(facts: &Facts) -> String {
    match facts.size_bytes % GIB {
        0 => format!("{}Gi", facts.size_bytes / GIB),
        _ => facts.size_bytes.to_string(),
    }
}

/// Name of an object: lower case letters, digits and '-', beginning and ending with a letter or digit.
fn object_name(volume: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = volume.chars().map(plain).take(253).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "windlass".to_owned() } else { name.to_owned() }
}
