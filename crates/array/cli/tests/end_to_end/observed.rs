//! What the array tells of itself and of its hosts.

use super::{Array, ESX01};

#[test]
fn what_the_array_tells() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "64G"]);
    array.ok(&["host", "create", "esx01", "--iqn", ESX01]);
    assert_eq!(
        array.ok(&["offload", "stats"]),
        "VOLUME  PRIMITIVE  COMMANDS    OK  REFUSED   BYTES  HOST BYTES AVOIDED     AVG     P99  TOP REFUSAL\n\
         v1      UNMAP          1204  1190       14  12 GiB  –                   500 µs  500 µs  below-grain (14)\n"
    );
    assert_eq!(
        array.ok(&["offload", "log", "v1"]),
        "TIME                  VOLUME  PRIMITIVE  HOST   ENDING   REASON       DETAIL\n\
         2026-11-21T10:00:01Z  v1      XCOPY      esx01  refused  not-granted  naa.602574c0\n"
    );
    assert_eq!(array.ok(&["offload", "log", "--ending", "failed", "--no-headers"]), "");
    assert_eq!(array.ok(&["offload", "log", "--ending", "refused", "-o", "name"]), "41\n");
    assert_eq!(
        array.ok(&["session", "list"]),
        "ID  HOST   INITIATOR                     FROM             PORTAL          COMMANDS   READ  WRITTEN\n \
         7  esx01  iqn.1998-01.com.vmware:esx01  10.0.0.11:40312  127.0.0.1:3260      1204  3 MiB    512 B\n"
    );
    let json = array.ok(&["offload", "stats", "-o", "json"]);
    for part in ["\"primitive\": \"unmap\"", "\"commands\": 1204", "\"host_bytes_avoided\": 0", "\"volume\": \"v1\""] {
        assert!(json.contains(part), "{json}");
    }
    let pool = array.ok(&["pool", "show", "-o", "json"]);
    for part in ["\"size_bytes\": 68719476736", "\"used_bytes\"", "\"free_bytes\"", "\"metadata_bytes\": 67108864"] {
        assert!(pool.contains(part), "{pool}");
    }
    assert_eq!(
        array.ok(&["pool", "list"]),
        "NAME  STATE      SIZE    USED      FREE  SHARED  PROVISIONED  COMMIT\n\
         p0    healthy  64 GiB  64 MiB  63.9 GiB     0 B       64 GiB  100%\n"
    );
    let status = array.ok(&["status"]);
    assert!(status.contains("pool     p0 healthy · used 64 MiB of 64 GiB (0%)"), "{status}");
    assert!(status.contains("UNMAP 1204 commands · 14 refused (see: windlass offload log)"), "{status}");
    assert!(status.starts_with("array    healthy · "), "{status}");
    // Regression: the array was called healthy beside an alert.
    array.ok(&["volume", "create", "big", "--size", "55G", "--reserve", "thick"]);
    let status = array.ok(&["status"]);
    assert!(status.starts_with("array    serving, with 1 warning · "), "{status}");
    assert!(status.contains("pool     p0 low-space · "), "{status}");
}
