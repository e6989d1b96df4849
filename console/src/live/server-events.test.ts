import { expect, test } from "vitest";
import { eventReader } from "./server-events";

const TEXT =
  'event: hello\ndata: {"stream":1}\nid: 5.1.2\nretry: 2000\n\n:\n\nevent: sample\ndata: {"t":7}\n\ndata: a\ndata:b\n\n';
const EVENTS = [
  { name: "hello", data: '{"stream":1}', id: "5.1.2" },
  { name: "sample", data: '{"t":7}', id: undefined },
  { name: "message", data: "a\nb", id: undefined },
];

test("events are complete in whatever pieces the stream comes", () => {
  for (let length = 1; length <= TEXT.length; length += 1) {
    const take = eventReader();
    const found = [];
    for (let at = 0; at < TEXT.length; at += length) found.push(...take(TEXT.slice(at, at + length)));
    expect(found, `pieces of ${length}`).toEqual(EVENTS);
  }
});

test("the beginning of an event is none, and one without an end is refused", () => {
  const take = eventReader();
  expect(take("event: sample\ndata: {")).toEqual([]);
  expect(take("}\n\n")).toEqual([{ name: "sample", data: "{}", id: undefined }]);
  expect(() => take("x".repeat(2 << 20))).toThrow("too long");
});
