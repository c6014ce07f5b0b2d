import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isDnsLabel, isLabelValue } from '../../kubernetes/names.ts';
import { attachmentPodName, budgetName, isDiskCid, isVmCid, labelValue, vmCid } from './names.ts';

/** Texts that collide easily: near the lengths that matter, with letters that are folded or dropped. */
const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('a', 'A', '-', '_', '/', ' ', '.'), maxLength: 70 }),
  fc.uuid(),
);

test('the cid of an agent with a uuid is vm- and the uuid', () => {
  fc.assert(fc.property(fc.uuid(), (id) => vmCid(id) === `vm-${id}`));
});

test('every agent id has a cid that may be a name', () => {
  fc.assert(fc.property(texts, (id) => isDnsLabel(vmCid(id)) && isVmCid(vmCid(id))));
});

test('different agent ids have different cids, also where one is the cid of another', () => {
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const ids = new Set([one, other, vmCid(one).slice(3), vmCid(other).slice(3), one.toUpperCase()]);
      assert.equal(new Set([...ids].map(vmCid)).size, ids.size);
    }),
  );
});

test('every text has a label value; a text that may be one keeps it', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const value = labelValue(text);
      assert.ok(isLabelValue(value), value);
      if (isLabelValue(text) && !/-x[0-9a-f]{20}$/u.test(text)) assert.equal(value, text);
    }),
  );
});

test('different texts have different label values, also where one is the value of another', () => {
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const all = new Set([one, other, labelValue(one), labelValue(other)]);
      const values = new Set([...all].map(labelValue));
      // a valid value stays as it is, so each stays different; a hashed one never equals its text
      assert.equal(values.size, all.size);
    }),
  );
});

test('group names over 63 characters that differ at their end alone stay apart', () => {
  const group = 'director-deployment-'.repeat(4);
  assert.notEqual(labelValue(`${group}a`), labelValue(`${group}b`));
  assert.match(labelValue(`${group}a`), /^director-deployment-/u);
});

test('a disk cid leaves room for the name of its attachment', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '-', '0'), maxLength: 70 }), (rest) => {
      const cid = `disk-${rest}`;
      if (isDiskCid(cid)) assert.ok(isDnsLabel(attachmentPodName(cid)));
    }),
  );
});

test('the readable part of a hashed name is in lower case, that of a label value is as the text has it', () => {
  assert.match(vmCid('Agent_One'), /^vm-agent-one-x[0-9a-f]{20}$/u);
  assert.match(budgetName('Director_Group'), /^group-director-group-x[0-9a-f]{20}$/u);
  assert.match(labelValue('Agent/One'), /^Agent-One-x[0-9a-f]{20}$/u);
});
