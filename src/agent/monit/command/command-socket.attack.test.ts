import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { test } from 'node:test';
import { asHostileUser, hostileUserIsMissing, identitiesWithVcap } from '../../testing/hostile-user.ts';
import { TestVm } from '../../testing/test-vm.ts';

const perl = ['-MIO::Socket::UNIX', '-e', 'IO::Socket::UNIX->new(Peer => $ENV{SOCKET}) or die "$!\n"'];
const perlIsMissing =
  spawnSync('perl', ['-MIO::Socket::UNIX', '-e', '1']).status === 0
    ? false
    : 'needs perl with IO::Socket::UNIX';

test(
  "a job's user can neither reach nor replace the socket of the monit command",
  { skip: hostileUserIsMissing || perlIsMissing },
  async (t) => {
    const vm = await TestVm.create(identitiesWithVcap);
    t.after(() => vm.remove());
    await vm.start();
    const { monitSocket, monit, base } = vm.directories;
    const script = ['perl', ...perl.map((word) => `'${word}'`)].join(' ');
    // As a check of the script: root can do it.
    assert.equal(spawnSync('perl', perl, { env: { ...process.env, SOCKET: monitSocket } }).status, 0);
    const reached = await asHostileUser(script, { SOCKET: monitSocket });
    assert.notEqual(reached.code, 0);
    assert.match(reached.output, /Permission denied/);
    const moved = await asHostileUser('mv "$SOCKET" "$SOCKET.aside" || mv "$FOLDER" "$BASE/aside"', {
      ...{ SOCKET: monitSocket, FOLDER: monit, BASE: base },
    });
    assert.notEqual(moved.code, 0);
    assert.equal((await stat(monitSocket)).mode & 0o777, 0o600);
    assert.equal((await stat(monit)).mode & 0o777, 0o700);
  },
);
