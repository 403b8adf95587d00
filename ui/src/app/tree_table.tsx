/* A tree as a table: rows that open, with what is small counted in a row of its own. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Address } from "../shared/address";
import { amount, grouped, percent } from "../shared/amount";
import { Name } from "./call_pane";
import type { TreeNode } from "./call_tree";
import { Icon } from "./icons";
import { say } from "./language";
import { kindColour, kindTitle } from "./spans";

/** Rows that are shown at most. */
const MOST = 2000;

interface Row {
  path: string;
  depth: number;
  node: TreeNode | undefined;
  isOpen: boolean;
  /** Of a row of small ones: how many, and what they took. */
  small: number;
  smallTotal: number;
}

const child = (path: string, node: TreeNode): string => `${path}\n${node.name}`;

/** Paths that are open at first: along the largest, while it is most of what is around it. */
function along(root: TreeNode): Set<string> {
  const open = new Set<string>();
  let [node, path] = [root, ""];
  for (let depth = 0; depth < 24; depth++) {
    const next = node.children[0];
    if (!next || next.total * 3 < node.total) break;
    path = child(path, next);
    open.add(path);
    node = next;
  }
  return open;
}

/** What the address remembers of rows that are open, depth and place among the rows around them; of none a word. */
function written(root: TreeNode, open: ReadonlySet<string>): string {
  const rows: string[] = [];
  const add = (node: TreeNode, path: string, depth: number) => {
    for (const [at, one] of node.children.entries()) {
      const below = child(path, one);
      if (!open.has(below)) continue;
      rows.push(`${depth}-${at}`);
      add(one, below, depth + 1);
    }
  };
  add(root, "", 0);
  return rows.join(".") || "none";
}

/** The paths that an address has open; what is not there is passed over. */
function remembered(root: TreeNode, text: string): Set<string> {
  const open = new Set<string>();
  const around = [{ node: root, path: "" }];
  for (const row of text.split(".")) {
    const [depth = -1, at = -1] = row.split("-").map(Number);
    const parent = around[depth];
    const node = parent?.node.children[at];
    if (!parent || !node) continue;
    const path = child(parent.path, node);
    open.add(path);
    around.length = depth + 1;
    around.push({ node, path });
  }
  return open;
}

/** Returns true if a node or one below it has the words in its name. */
function matching(node: TreeNode, words: string, found: Set<TreeNode>): boolean {
  let has = node.name.toLowerCase().includes(words);
  for (const one of node.children) if (matching(one, words, found)) has = true;
  if (has) found.add(node);
  return has;
}

function rowsOf(root: TreeNode, open: Set<string>, least: number, words: string): Row[] {
  const rows: Row[] = [];
  const found = new Set<TreeNode>();
  if (words) matching(root, words, found);
  const add = (node: TreeNode, path: string, depth: number) => {
    let [small, smallTotal] = [0, 0];
    for (const one of node.children) {
      if (words ? !found.has(one) : one.total < least) {
        small += 1;
        smallTotal += one.total;
        continue;
      }
      const at = child(path, one);
      const isOpen = words ? one.children.some((below) => found.has(below)) || open.has(at) : open.has(at);
      rows.push({ path: at, depth, node: one, isOpen, small: 0, smallTotal: 0 });
      if (isOpen) add(one, at, depth + 1);
    }
    if (small && !words) rows.push({ path: `${path}\n…`, depth, node: undefined, isOpen: false, small, smallTotal });
  };
  add(root, "", 0);
  return rows;
}

/** The table. */
export function TreeTable(props: {
  root: TreeNode;
  /** Nodes below this share of the whole are counted in one row. */
  least: number;
  words: string;
  selected: string;
  select: (name: string) => void;
  /** What the first column of numbers is: the total, or own time. */
  what: string;
  /** What the address knows the tree by. */
  id: string;
}): JSX.Element {
  const { root } = props;
  const place = useMemo(() => new Address(props.id), [props.id]);
  const recalled = () => {
    const text = place.get("open");
    return text === null ? along(root) : remembered(root, text);
  };
  const [open, setOpened] = useState(recalled);
  useEffect(() => {
    const recall = () => setOpened(recalled());
    addEventListener("popstate", recall);
    return () => removeEventListener("popstate", recall);
  }, [root, place]);
  const setOpen = (next: Set<string>) => {
    setOpened(next);
    // Rows are opened many at a time: going back leads to the page before.
    const text = written(root, next);
    place.set({ open: text === written(root, along(root)) ? null : text }, true);
  };
  const rows = useMemo(
    () => rowsOf(root, open, root.total * props.least, props.words.trim().toLowerCase()),
    [root, open, props.least, props.words],
  );
  const turn = (row: Row, on = !row.isOpen) => {
    const next = new Set(open);
    if (on) next.add(row.path);
    else next.delete(row.path);
    setOpen(next);
  };
  const openBelow = (row: Row) => {
    const next = new Set(open);
    const add = (node: TreeNode, path: string, left: number) => {
      next.add(path);
      if (left > 0) for (const one of node.children) add(one, child(path, one), left - 1);
    };
    if (row.node) add(row.node, row.path, 8);
    setOpen(next);
  };
  const key = (event: KeyboardEvent, row: Row) => {
    const element = event.currentTarget as HTMLElement;
    const next = {
      ArrowDown: element.nextElementSibling,
      j: element.nextElementSibling,
      ArrowUp: element.previousElementSibling,
      k: element.previousElementSibling,
    }[event.key];
    if (next instanceof HTMLElement) next.focus();
    else if (event.key === "ArrowRight") turn(row, true);
    else if (event.key === "ArrowLeft") turn(row, false);
    else if (event.key === "*") openBelow(row);
    else if (event.key === "Enter" && row.node) props.select(row.node.name);
    else return;
    event.preventDefault();
  };
  const whole = root.total;
  const widest = Math.max(...root.children.map(({ total }) => total), 1);
  const hasDatabase = root.children.some(({ database }) => database > 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: rows of the table open and close.
    <table class="t dense pad fixed tree" role="treegrid">
      <colgroup>
        <col />
        <col class="c-bar" />
        <col class="c-num wide" />
        <col class="c-num" />
        <col class="c-num wide" />
      </colgroup>
      <thead>
        <tr>
          <th>{say("method")}</th>
          <th aria-sort="descending">
            {props.what}
            {hasDatabase && (
              <>
                , <i class="patch k-db" /> {say("tree.database")}
              </>
            )}{" "}
            ↓
          </th>
          <th class="n wide">{say("share")}</th>
          <th class="n">{say("self")}</th>
          <th class="n wide">{say("times")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, MOST).map((row) => {
          const { node } = row;
          const indent = { paddingLeft: `${16 + row.depth * 14}px` };
          if (!node) {
            return (
              <tr key={row.path} aria-level={row.depth + 1}>
                <td style={indent} class="dim">
                  <span class="tw" /> {say("tree.smaller", { nodes: row.small })}
                </td>
                <td class="bars dim">
                  <span class="cb">
                    <span>{amount("ns", row.smallTotal)}</span>
                  </span>
                </td>
                <td class="n dim wide">{percent(row.smallTotal, whole)}</td>
                <td />
                <td class="wide" />
              </tr>
            );
          }
          return (
            <tr
              key={row.path}
              tabIndex={0}
              aria-level={row.depth + 1}
              aria-expanded={node.children.length ? row.isOpen : undefined}
              aria-selected={node.name === props.selected}
              onClick={() => props.select(node.name)}
              onKeyDown={(event) => key(event, row)}
            >
              <td style={indent}>
                <button
                  type="button"
                  class="tw"
                  tabIndex={-1}
                  aria-label={say(row.isOpen ? "close" : "open")}
                  disabled={!node.children.length}
                  onClick={(event) => {
                    event.stopPropagation();
                    turn(row);
                  }}
                >
                  {node.children.length > 0 && <Icon name={row.isOpen ? "down" : "right"} />}
                </button>
                <i class={`patch ${kindColour(node.kind)}`} title={kindTitle(node.kind)} /> <Name name={node.name} />
                {node.failed > 0 && <span class="bad sm"> {say("failed")}</span>}
              </td>
              <td class="bars">
                <span class="cb">
                  <span>{amount("ns", node.total)}</span>
                  <i>
                    <u style={{ width: `${(100 * node.total) / widest}%` }} />
                    {node.database > 0 && <u class="k-db" style={{ width: `${(100 * node.database) / widest}%` }} />}
                  </i>
                </span>
              </td>
              <td class="n wide">{percent(node.total, whole)}</td>
              <td class="n">{node.self ? amount("ns", node.self) : <span class="dim3">0</span>}</td>
              <td class="n wide">{grouped(node.times)}</td>
            </tr>
          );
        })}
        {rows.length > MOST && (
          <tr>
            <td colSpan={5} class="dim">
              {say("tree.more", { rows: rows.length - MOST })}
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
