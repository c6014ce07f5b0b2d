import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { test } from 'node:test';
import { smallCheckout } from './testing/small-checkout.ts';

for (const [where, script, stderrPattern] of [
  ['it has no loader', '#!/lib64/there-is-no-loader\n', /ENOENT/],
  [
    'the C library is too old for it',
    "#!/bin/sh\necho 'version `GLIBC_2.28 not found' >&2\nexit 1\n",
    /`GLIBC_2\.28 not found \(exit code 1\)/,
  ],
] as const) {
  test(`if the pinned Node cannot run because ${where}, the error names the cause and the requirement`, async (t) => {
    const checkout = await smallCheckout(t);
    await checkout.writeScript(checkout.pinnedNode, script);

    const { exitCode, stderr } = await checkout.start('ensureBuilt').ended;

    assert.equal(exitCode, 1);
    assert.match(stderr, stderrPattern);
    assert.match(stderr, /needs glibc/);
    assert.ok(stderr.includes(checkout.pinnedNode), stderr);
  });
}

for (const [what, script, mode, stderrPattern] of [
  ['a noexec file system', '#!/bin/sh\n', 0o644, /EACCES/],
  ['a lack of memory', "#!/bin/sh\necho 'out of memory' >&2\nexit 134\n", 0o755, /out of memory/],
] as const) {
  test(`if the pinned Node cannot run because of ${what}, the error does not mention a C library`, async (t) => {
    const checkout = await smallCheckout(t);
    await checkout.writeScript(checkout.pinnedNode, script);
    await chmod(checkout.pinnedNode, mode);

    const { exitCode, stderr } = await checkout.start('ensureBuilt').ended;

    assert.equal(exitCode, 1);
    assert.match(stderr, stderrPattern);
    assert.doesNotMatch(stderr, /glibc|Alpine/);
  });
}
