import { expect, test } from "vitest";
import { BOUNDS_US, parse } from "./exposition";

const TEXT = `# HELP windlass_io_operations Reads and writes
windlass_io_operations_total{volume="db",op="read",protocol="iscsi"} 10
windlass_io_operations_total{volume="db",op="read",protocol="nvme"} 5
windlass_io_operations_total{volume="db",op="write",protocol="iscsi"} 2
windlass_io_bytes_total{volume="db",op="read",protocol="iscsi"} 4096
windlass_io_bytes_total{volume="db",op="write",protocol="iscsi"} 1024
windlass_io_duration_seconds_sum{volume="db",op="read"} 0.5
windlass_io_duration_seconds_bucket{le="0.000016",volume="db",op="read"} 3
windlass_io_duration_seconds_bucket{le="0.000032",volume="db",op="read"} 9
windlass_io_duration_seconds_bucket{le="+Inf",volume="db",op="read"} 15
windlass_io_duration_seconds_bucket{le="0.000032",volume="db",op="write"} 2
windlass_io_duration_seconds_bucket{le="+Inf",volume="db",op="write"} 2
windlass_io_operations_total{volume="a\\"}b",op="write",protocol="iscsi"} 1
windlass_offload_bytes_total{volume="db",primitive="xcopy"} 100
windlass_offload_bytes_total{volume="db",primitive="ats"} 7
windlass_nfs_bytes_total{direction="in"} 50
windlass_io_operations_total{share="vms",op="read",protocol="nfs"} 4
windlass_io_bytes_total{share="vms",op="read",protocol="nfs"} 999
windlass_pool_size_bytes{pool="p0"} 9
windlass_io_operations_total{volume="db",op="read
# EOF`;

test("counters of a volume are added up over protocols", () => {
  const db = parse(TEXT, 5).volumes.get("db");
  expect(db).toMatchObject({ reads: 15, writes: 2, readBytes: 4096, writtenBytes: 1024 });
});

test("bytes over the network and by offload are counted apart", () => {
  const scrape = parse(TEXT, 5);
  expect([scrape.at, scrape.networkBytes, scrape.offloadBytes]).toEqual([5, 5170, 100]);
});

test("the bytes of a share are those of NFS, and counted once", () => {
  expect(parse(TEXT, 5).volumes.get("vms")).toMatchObject({ share: true, reads: 4, readBytes: 999 });
});

test("buckets count the commands between their bounds", () => {
  const buckets = parse(TEXT.replace(/.*op="write"\} 2\n/g, ""), 5).volumes.get("db")?.buckets ?? [];
  expect(buckets.slice(0, 2)).toEqual([3, 6]);
  expect(BOUNDS_US.slice(0, 2)).toEqual([16, 32]);
});

test("a truncated or foreign text gives nothing, and no error", () => {
  expect(parse("", 1).volumes.size).toBe(0);
  expect(parse("<html>windlass_io_</html>\nwindlass_io_operations_total{} x", 1).volumes.size).toBe(0);
});
