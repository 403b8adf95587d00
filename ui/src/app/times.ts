/* Moments of the Unix clock. JSON has their nanoseconds as numbers, of which a double keeps the microseconds. */

const iso = (ns: number): string => new Date(ns / 1e6).toISOString();

/** Time of day where it is of the same day as `day`, else date and time; UTC. */
export function moment(ns: number | null | undefined, day?: number): string {
  if (ns === null || ns === undefined) return "–";
  const text = iso(ns);
  const isSameDay = day !== undefined && iso(day).slice(0, 10) === text.slice(0, 10);
  return isSameDay ? text.slice(11, 23) : `${text.slice(0, 10)} ${text.slice(11, 23)}`;
}

/** How long ago, up to an hour; the moment beyond. */
export function ago(ns: number | null, now: number): string {
  if (ns === null) return "–";
  const minutes = Math.floor((now - ns / 1e6) / 60_000);
  if (minutes < 1) return "just now";
  return minutes < 60 ? `${minutes} min ago` : moment(ns);
}
