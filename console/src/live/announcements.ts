// Announcements on the stream reload the views of the resources that they concern.

import { announce, announcedWhile, announcementsMissed } from "../api/query";
import { connected, onLive } from "./stream";

/** Connects the views of resources to the stream; once for the page. */
export function followAnnouncements(): void {
  let isFirst = true;
  announcedWhile(connected);
  onLive("hello", ({ revision }) => {
    // Lists state their revision. All else was read after the page opened its first stream.
    announcementsMissed(isFirst ? revision : undefined);
    isFirst = false;
  });
  onLive("lagged", () => announcementsMissed());
  onLive("change", ({ kind, rev }) => announce(kind, rev));
  onLive("event", () => announce("event"));
  onLive("job", () => announce("job"));
  onLive("alert", () => announce("alert"));
  onLive("alert-ended", () => announce("alert"));
}
