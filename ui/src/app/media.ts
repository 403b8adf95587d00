/* How wide the window is. */
import { useEffect, useState } from "preact/hooks";

/** Where tables are cards. */
export const PHONE = "(max-width: 640px)";

/** Returns true while a query of the window holds. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const turn = () => setHolds(media.matches);
    turn();
    media.addEventListener("change", turn);
    return () => media.removeEventListener("change", turn);
  }, [query]);
  return holds;
}
