// A small iSCSI initiator (RFC 7143) for tests: one session, one command at a time, no digests.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

const HEADER_BYTES = 48;
const SCSI_COMMAND = 0x01;
const LOGIN_REQUEST = 0x43;
const NOP_OUT = 0x40;
const NOP_IN = 0x20;
const SCSI_RESPONSE = 0x21;
const LOGIN_RESPONSE = 0x23;
const DATA_IN = 0x25;
const CHECK_CONDITION = 2;
const UNIT_ATTENTION = 6;

/** Status of a command; of a check condition key, code and qualifier as `5/26/00`, in hexadecimal. */
export interface Status {
  status: number;
  sense: string;
}

export class Initiator {
  private received = Buffer.alloc(0);
  private tag = 1;
  private sequence = 1;
  private expected = 1;

  private constructor(private readonly socket: Socket) {
    socket.on("data", (part) => {
      this.received = Buffer.concat([this.received, part as Buffer]);
      socket.emit("more");
    });
    socket.on("close", () => socket.emit("more"));
  }

  /** Logs in at a portal, `ADDRESS:PORT`. */
  static async login(portal: string, target: string, name: string): Promise<Initiator> {
    const [host, port] = portal.split(/:(?=\d+$)/);
    const socket = connect({ host: host ?? "", port: Number(port) });
    await once(socket, "connect");
    const initiator = new Initiator(socket);
    const keys = {
      InitiatorName: name,
      TargetName: target,
      SessionType: "Normal",
      HeaderDigest: "None",
      DataDigest: "None",
      ImmediateData: "Yes",
      InitialR2T: "Yes",
    };
    const text = Buffer.from(
      Object.entries(keys)
        .map(([key, value]) => `${key}=${value}\0`)
        .join(""),
    );
    const header = Buffer.alloc(HEADER_BYTES);
    header[0] = LOGIN_REQUEST;
    // Transit from the operational stage to the full feature phase.
    header[1] = 0x87;
    header.set([0x80, 0, 0, 1], 8);
    header.writeUInt32BE(initiator.sequence, 24);
    initiator.send(header, text);
    const { header: answer } = await initiator.read();
    if (answer[0] !== LOGIN_RESPONSE || answer[36] !== 0)
      throw new Error(`login refused: ${answer.subarray(36, 38).toString("hex")}`);
    return initiator;
  }

  /** Ends the session by closing its connection. */
  close(): void {
    this.socket.destroy();
  }

  /** Runs a command with data for the array; unit attentions are asked away. */
  async execute(lun: number, cdb: Buffer, data: Buffer): Promise<Status> {
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const outcome = await this.once(lun, cdb, data);
      if (!outcome.sense.startsWith(`${UNIT_ATTENTION}/`)) return outcome;
    }
    throw new Error("the array has no end of unit attentions");
  }

  private async once(lun: number, cdb: Buffer, data: Buffer): Promise<Status> {
    const header = Buffer.alloc(HEADER_BYTES);
    header[0] = SCSI_COMMAND;
    // Final, write, simple task.
    header[1] = 0x80 | (data.length > 0 ? 0x20 : 0) | 0x01;
    header.writeUInt16BE(lun, 8);
    header.writeUInt32BE(this.tag++, 16);
    header.writeUInt32BE(data.length, 20);
    header.writeUInt32BE(this.sequence++, 24);
    cdb.copy(header, 32);
    this.send(header, data);
    for (;;) {
      const { header: answer, data: sense } = await this.read();
      if (answer[0] === DATA_IN) continue;
      if (answer[0] === NOP_IN) {
        this.answer(answer);
        continue;
      }
      if (answer[0] !== SCSI_RESPONSE) throw new Error(`unexpected PDU ${answer.toString("hex")}`);
      const status = answer[3] ?? 0;
      if (status !== CHECK_CONDITION) return { status, sense: "" };
      // Two bytes of length, then fixed or descriptor format.
      const fixed = ((sense[2] ?? 0) & 0x7e) === 0x70;
      const [key, code, qualifier] = fixed ? [sense[4], sense[14], sense[15]] : [sense[3], sense[4], sense[5]];
      const byte = (value: number | undefined) => (value ?? 0).toString(16).padStart(2, "0");
      return { status, sense: `${((key ?? 0) & 0xf).toString(16)}/${byte(code)}/${byte(qualifier)}` };
    }
  }

  /** Answers a NOP-In, with which the array asks whether the session lives. */
  private answer(asked: Buffer): void {
    const header = Buffer.alloc(HEADER_BYTES);
    header[0] = NOP_OUT;
    header[1] = 0x80;
    asked.copy(header, 8, 8, 16);
    header.writeUInt32BE(0xffffffff, 16);
    asked.copy(header, 20, 20, 24);
    header.writeUInt32BE(this.sequence, 24);
    this.send(header, Buffer.alloc(0));
  }

  private send(header: Buffer, data: Buffer): void {
    header.writeUIntBE(data.length, 5, 3);
    header.writeUInt32BE(this.expected, 28);
    this.socket.write(Buffer.concat([header, data, Buffer.alloc(-data.length & 3)]));
  }

  private async read(): Promise<{ header: Buffer; data: Buffer }> {
    for (;;) {
      if (this.received.length >= HEADER_BYTES) {
        const length = this.received.readUIntBE(5, 3);
        const end = HEADER_BYTES + length + (-length & 3);
        if (this.received.length >= end) {
          const header = this.received.subarray(0, HEADER_BYTES);
          const data = this.received.subarray(HEADER_BYTES, HEADER_BYTES + length);
          this.received = this.received.subarray(end);
          // The number in a NOP-In that asks is the next one, not one that is used.
          if (header[0] !== NOP_IN) this.expected = header.readUInt32BE(24) + 1;
          return { header, data };
        }
      }
      if (this.socket.destroyed) throw new Error("the array has closed the connection");
      await once(this.socket, "more");
    }
  }
}

/** EXTENDED COPY (SPC-4 6.4) of blocks from one volume to another, each named by its NAA designator in hexadecimal. */
export function extendedCopy(source: string, destination: string, blocks: number): { cdb: Buffer; data: Buffer } {
  const target = (designator: string) => {
    const descriptor = Buffer.alloc(32);
    // Identification descriptor; binary NAA of the logical unit.
    descriptor[0] = 0xe4;
    descriptor.set([1, 3, 0, 16], 4);
    Buffer.from(designator.replace(/^naa\./, ""), "hex").copy(descriptor, 8);
    descriptor.writeUIntBE(512, 29, 3);
    return descriptor;
  };
  const segment = Buffer.alloc(28);
  // Block device to block device, from the first target to the second.
  segment[0] = 0x02;
  segment.writeUInt16BE(24, 2);
  segment.writeUInt16BE(1, 6);
  segment.writeUInt16BE(blocks, 10);
  const targets = Buffer.concat([target(source), target(destination)]);
  const header = Buffer.alloc(16);
  header.writeUInt16BE(targets.length, 2);
  header.writeUInt32BE(segment.length, 8);
  const data = Buffer.concat([header, targets, segment]);
  const cdb = Buffer.alloc(16);
  cdb[0] = 0x83;
  cdb.writeUInt32BE(data.length, 10);
  return { cdb, data };
}
