import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { parseAllDocuments } from 'yaml';
import type { Pod } from '../../src/kubernetes/pod.ts';
import {
  admittedAttachment,
  admittedCopy,
  admittedSweeper,
  attachmentChanges,
  copyChanges,
} from '../support/admission-changes.ts';

// The policy itself runs in test/cluster/admission.test.ts; here its expressions, of which CEL and JavaScript mean the same, are held to our pods.
interface Policy {
  readonly spec: {
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly operations: readonly string[];
        readonly resources: readonly string[];
      }[];
    };
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly expression: string; readonly message: string }[];
  };
}

const file = new URL('../../manifests/admission/attachments-only.yaml', import.meta.url);
const [policyDocument] = parseAllDocuments(await readFile(file, 'utf8'));
assert.ok(policyDocument !== undefined);
const { spec } = policyDocument.toJS() as Policy;

/** What of CEL the policy uses (kubernetes.io: Common Expression Language in Kubernetes), as JavaScript. */
const asScript = (expression: string): string =>
  expression
    .replace(/has\(([\w.]+)\)/gu, '($1 !== undefined)')
    .replace(/('[^']+'|[\w.]+) in (\[[^\]]*\]|[\w.]+)/gu, 'isIn($1, $2)')
    .replace(/\.all\((\w), /gu, '.every(($1) => ')
    .replace(/\.size\(\)/gu, '.length')
    .replace(/\.matches\(('[^']*')\)/gu, '.match($1) !== null')
    .replace(/(object\.spec\.containers) \+ \(/u, '$1.concat(');

const isIn = (key: string, set: object): boolean => (Array.isArray(set) ? set.includes(key) : key in set);

/** Why the policy refuses a pod; undefined where it admits it or does not ask. */
function refusal(pod: Pod): string | undefined {
  const variables: Record<string, unknown> = {};
  const evaluate = (expression: string): unknown =>
    runInNewContext(asScript(expression), { object: pod, variables, isIn });
  if (spec.matchConditions.some(({ expression }) => evaluate(expression) === false)) return undefined;
  for (const { name, expression } of spec.variables) variables[name] = evaluate(expression);
  return spec.validations.find(({ expression }) => evaluate(expression) !== true)?.message;
}

const namespace = 'bosh-disks';

test('an attachment, a sweeper, and the pod that binds a copy, are admitted', () => {
  assert.equal(refusal(admittedAttachment(namespace)), undefined);
  assert.equal(refusal(admittedSweeper(namespace)), undefined);
  assert.equal(refusal(admittedCopy(namespace)), undefined);
});

test('a copy that does more than bind its own claim is no copy, and such an update is asked about', () => {
  for (const [what, change] of Object.entries(copyChanges)) {
    const pod = admittedCopy(namespace);
    change(pod);
    assert.notEqual(refusal(pod), undefined, what);
  }
  const asked = spec.matchConstraints.resourceRules.flatMap(({ operations, resources }) =>
    operations.flatMap((operation) => resources.map((resource) => `${operation} ${resource}`)),
  );
  assert.deepEqual(asked, ['CREATE pods', 'UPDATE pods/ephemeralcontainers']);
});

test('anything else is refused', () => {
  for (const [what, change] of Object.entries(attachmentChanges)) {
    const pod = admittedAttachment(namespace);
    change(pod);
    assert.notEqual(refusal(pod), undefined, what);
  }
});
