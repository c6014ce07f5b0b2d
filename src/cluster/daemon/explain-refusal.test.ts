import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainRefusal, type KernelSettings } from './check-requirements.ts';
import { parseProcessRecord } from './process-record.ts';

const open: KernelSettings = {
  ...{ unprivilegedUserns: undefined, maxUserNamespaces: '9000', apparmorRestriction: undefined },
  ...{ inContainer: false, uid: 1000 },
};

test('the setting that stands in the way is named with its remedy', () => {
  const cases: [Partial<KernelSettings>, string, RegExp][] = [
    [{ unprivilegedUserns: '0' }, 'EPERM', /kernel\.unprivileged_userns_clone is 0/],
    [{ maxUserNamespaces: '0' }, 'ENOSPC', /user\.max_user_namespaces is 0/],
    [{ apparmorRestriction: '1' }, 'EPERM', /kernel\.apparmor_restrict_unprivileged_userns is 1/],
    [{ inContainer: true }, 'EPERM', /--privileged/],
    [{}, 'spawnSync unshare ENOENT', /install util-linux/],
    [{}, 'unshare: unshare failed: Operation not permitted', /Operation not permitted/],
    [{ uid: 0, apparmorRestriction: '1' }, 'mount: denied', /mount: denied/],
  ];
  for (const [settings, complaint, expected] of cases) {
    assert.match(explainRefusal({ ...open, ...settings }, complaint), expected);
  }
});

test('a record that was cut short is no record', () => {
  assert.deepEqual(parseProcessRecord('12 345 0a-b\n'), { pid: 12, startTime: '345', bootId: '0a-b' });
  for (const text of ['', '12', '12 345', 'x y z', '12 345 boot!']) {
    assert.equal(parseProcessRecord(text), undefined, text);
  }
});
