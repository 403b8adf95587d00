/* The icons of the app: 16 pixels, drawn with the colour of the text beside them. */
import type { JSX } from "preact";

const PATHS = {
  search: "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0Zm-1 3.5 3 3",
  down: "m4 6 4 4 4-4",
  right: "m6 4 4 4-4 4",
  back: "m10 4-4 4 4 4",
  close: "m4 4 8 8M12 4l-8 8",
  theme: "M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0ZM8 2.5v11m1.5-10.7v10.4m1.5-9.6v8.8m1.5-7v5.2",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  link: "M6.5 9.5l3-3M7 4.5 8.5 3a3 3 0 0 1 4.3 4.3L11.5 8.8M9 11.5 7.5 13a3 3 0 0 1-4.3-4.3l1.3-1.5",
  download: "M8 2.5v8m-3-3 3 3 3-3M3 13.5h10",
  upload: "M8 11V3m-3 3 3-3 3 3M3 13.5h10",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  warning: "M8 2.5 14 13H2L8 2.5ZM8 6.5v3M8 11.3v.1",
  error: "M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0ZM8 5v3.5M8 10.8v.1",
} as const;

/** An icon, which says nothing to who does not see it. */
export function Icon({ name }: { name: keyof typeof PATHS }): JSX.Element {
  return (
    <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
