import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinVariants } from './variants.ts';

test('names that differ in one place are one line', () => {
  assert.deepEqual(joinVariants(['a disk of class loop: grows', 'a disk of class loop-wait: grows']), [
    'a disk of class (loop, loop-wait): grows',
  ]);
  assert.deepEqual(joinVariants(['kubelet killed', 'containerd killed', 'runc killed']), [
    '(kubelet, containerd, runc) killed',
  ]);
  assert.deepEqual(joinVariants(['once']), ['once']);
});

test('names of several loops are their alternatives, and what is beside them stands beside them', () => {
  const names = ['ours', 'upstream'].flatMap((agent) =>
    ['hot', 'cold'].flatMap((attach) => ['a', 'b'].map((by) => `${by}, ${agent}, ${attach}: runs, ends`)),
  );
  assert.deepEqual(joinVariants(names), ['(a, b), (ours, upstream), (hot, cold): runs, ends']);
  assert.deepEqual(joinVariants([...names, 'a, ours, warm: runs, ends']), [
    '(a, b), (ours, upstream), (hot, cold); a, ours, warm: runs, ends',
  ]);
});

test('names with nothing in common, or of which one is the beginning of the others, stay as they are', () => {
  for (const names of [
    ['one thing', 'another'],
    ['a disk', 'a disk that grows'],
  ])
    assert.deepEqual(joinVariants(names), names);
});
