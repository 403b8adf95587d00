import assert from "node:assert/strict";
import { test } from "node:test";
import { roundUp } from "../src/timeline/model";

test("an axis ends with a round value", () => {
  assert.deepEqual(
    [0, 3, 18, 50, 51, 0.3].map((value) => roundUp(value, "count")),
    [1, 5, 20, 50, 100, 0.5],
  );
  assert.equal(roundUp(509 * 2 ** 20, "bytes"), 512 * 2 ** 20);
  assert.equal(roundUp(512 * 2 ** 20, "bytes"), 512 * 2 ** 20);
});
