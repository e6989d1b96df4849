//! Kubernetes: a static volume and its claim.

use super::{first, host_step, linux, only_initiator, own_name, step, watch};
use crate::quote::{file, line, secret_for_yaml, sh, yaml};
use crate::{ARRAY_SECRET, CHAP_SECRET, Chap, Facts, Shell, Step, System};

const PLACE: &str = "where kubectl is";
const EACH: &str = "on each node, as root";
const GIB: u64 = 1 << 30;

pub(crate) fn steps(facts: &Facts) -> Vec<Step> {
    let name = own_name(facts);
    let mut steps = vec![host_step(
        "nodes",
        "iSCSI initiator of each node",
        "The kubelet logs in with the node's open-iscsi. All nodes may use the volume under the host's name.",
        EACH,
        vec![line(Shell::Sh, linux::INSTALL), sh(&["systemctl", "enable", "--now", "iscsid"])],
    )];
    if facts.portals.len() > 1 {
        // Nodes keep these settings, which do no harm without the volume: the undo is entered where kubectl is.
        for step in [linux::multipath(), linux::claim(facts)] {
            steps.push(Step { place: EACH, undo: Vec::new(), ..step });
        }
    }
    if let Some(chap) = &facts.chap {
        let file_name = format!("{name}-secret.yaml");
        steps.push(Step {
            undo: vec![sh(&["kubectl", "delete", &format!("secret/{name}")])],
            ..step(
                "chap",
                "CHAP",
                "The kubelet reads user and secret from this object. Apply it in the namespace of the pods that use the claim. \
                 Between the quotes, write a ' of the secret as ''.",
                PLACE,
                vec![
                    file(Shell::Yaml, &file_name, secret(&name, chap)),
                    sh(&["kubectl", "apply", "-f", &file_name]),
                ],
            )
        });
    }
    let file_name = format!("{name}-volume.yaml");
    steps.push(Step {
        undo: vec![sh(&["kubectl", "delete", &format!("pvc/{name}"), &format!("pv/{name}")])],
        ..step(
            "volume",
            "Volume and claim",
            "One node at a time mounts the volume. Deleting the claim keeps the data.",
            PLACE,
            vec![file(Shell::Yaml, &file_name, volume(facts, &name)), sh(&["kubectl", "apply", "-f", &file_name])],
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

fn secret(name: &str, chap: &Chap) -> String {
    let (user, secret) = (yaml(&chap.user), secret_for_yaml(CHAP_SECRET));
    let of = |session: &str| {
        let mut text = format!("  {session}.auth.username: {user}\n  {session}.auth.password: {secret}\n");
        if let Some(array) = &chap.mutual_user {
            let (array, secret) = (yaml(array), secret_for_yaml(ARRAY_SECRET));
            text += &format!("  {session}.auth.username_in: {array}\n  {session}.auth.password_in: {secret}\n");
        }
        text
    };
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {}\ntype: kubernetes.io/iscsi-chap\nstringData:\n{}{}",
        yaml(name),
        of("discovery.sendtargets"),
        of("node.session")
    )
}

fn volume(facts: &Facts, name: &str) -> String {
    let mut text = format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: {}\nspec:\n  capacity:\n    storage: {}\n  \
         accessModes: [\"ReadWriteOnce\"]\n  persistentVolumeReclaimPolicy: Retain\n  storageClassName: \"\"\n  \
         mountOptions: [\"discard\"]\n  iscsi:\n    targetPortal: {}\n",
        yaml(name),
        yaml(&capacity(facts)),
        yaml(&first(facts))
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
        text += &format!(
            "    chapAuthDiscovery: true\n    chapAuthSession: true\n    secretRef:\n      name: {}\n",
            yaml(name)
        );
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
