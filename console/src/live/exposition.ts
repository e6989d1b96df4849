// The counters of a scrape of /metrics (OpenMetrics text) that charts need.

/** Upper bounds of the latency buckets in microseconds, ascending; the last is infinity. */
export const BOUNDS_US: number[] = [...Array.from({ length: 20 }, (_, power) => 16 * 2 ** power), Infinity];

/** Counters of one volume or share since the array started. */
export interface Counters {
  /** True for a share, false for a volume. */
  share: boolean;
  reads: number;
  writes: number;
  readBytes: number;
  writtenBytes: number;
  /** Reads and writes by latency, one count for each of [`BOUNDS_US`], not cumulative. */
  buckets: number[];
}

/** One scrape. */
export interface Scrape {
  /** Time of the answer, in milliseconds since 1970. */
  at: number;
  /** Volumes and shares, by name: no two have the same. */
  volumes: Map<string, Counters>;
  /** Bytes between hosts and array: reads and writes of volumes, and all calls of NFS. */
  networkBytes: number;
  /** Bytes that offload commands cloned, zeroed or freed. */
  offloadBytes: number;
}

const LINE = /^(windlass_[a-z_]+)\{([^}]*)\} ([0-9.e+-]+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;
/** Offload commands that move or free data; COMPARE AND WRITE (ats) does neither. */
const MOVING = new Set(["xcopy", "zero", "unmap", "clone", "copy", "free", "write-same"]);

function labels(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]));
}

function empty(share: boolean): Counters {
  return { share, reads: 0, writes: 0, readBytes: 0, writtenBytes: 0, buckets: BOUNDS_US.map(() => 0) };
}

/** Reads a scrape; lines that no chart needs are skipped. */
export function parse(text: string, at: number): Scrape {
  const scrape: Scrape = { at, volumes: new Map(), networkBytes: 0, offloadBytes: 0 };
  for (const line of text.split("\n")) {
    if (
      !line.startsWith("windlass_io_") &&
      !line.startsWith("windlass_offload_bytes") &&
      !line.startsWith("windlass_nfs_bytes")
    ) {
      continue;
    }
    const match = LINE.exec(line);
    if (match === null) continue;
    const [, name = "", list = "", value = "0"] = match;
    count(scrape, name, labels(list), Number(value));
  }
  for (const { buckets } of scrape.volumes.values()) {
    for (let index = buckets.length - 1; index > 0; index -= 1) {
      buckets[index] = (buckets[index] ?? 0) - (buckets[index - 1] ?? 0);
    }
  }
  return scrape;
}

function count(scrape: Scrape, name: string, of: Record<string, string>, value: number): void {
  if (name === "windlass_nfs_bytes_total") {
    scrape.networkBytes += value;
    return;
  }
  if (name === "windlass_offload_bytes_total") {
    if (MOVING.has(of.primitive ?? "")) scrape.offloadBytes += value;
    return;
  }
  const volume = of.volume ?? of.share;
  if (volume === undefined) return;
  const counters = scrape.volumes.get(volume) ?? empty(of.volume === undefined);
  scrape.volumes.set(volume, counters);
  const read = of.op === "read";
  if (name === "windlass_io_operations_total") {
    counters[read ? "reads" : "writes"] += value;
  } else if (name === "windlass_io_bytes_total") {
    counters[read ? "readBytes" : "writtenBytes"] += value;
    // Those of shares are among the bytes of NFS.
    if (!counters.share) scrape.networkBytes += value;
  } else if (name === "windlass_io_duration_seconds_bucket") {
    const bound = of.le === "+Inf" ? Infinity : Math.round(Number(of.le) * 1e6);
    const index = BOUNDS_US.indexOf(bound);
    if (index >= 0) counters.buckets[index] = (counters.buckets[index] ?? 0) + value;
  }
}
