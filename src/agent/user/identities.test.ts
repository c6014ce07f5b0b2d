import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { resolveOwner } from '../monit/launch.ts';
import { parseIdentities, ownershipHint, vcapGroup } from './identities.ts';

const files = {
  passwd: 'root:x:0:0:root:/root:/bin/sh\nvcap:x:1000:1000::/home/vcap:/bin/sh\n',
  group: 'root:x:0:\nvcap:x:1000:\n',
  userMap: '         0          0 4294967295\n',
  groupMap: '         0          0 4294967295\n',
  user: 0,
  userGroup: 0,
};
const single = { ...files, userMap: '0 65534 1\n', groupMap: '0 65534 1\n' };
const program = { arguments: ['/bin/x'] as const, timeoutSeconds: 1, group: undefined };

test('root with every id mapped can act as any user', () => {
  const identities = parseIdentities(files);
  assert.equal(identities.hasSingleId, false);
  assert.equal(vcapGroup(identities), 1000);
  assert.deepEqual(resolveOwner({ ...program, user: 'vcap', group: '7' }, 'web', identities), {
    userId: 1000,
    groupId: 7,
  });
  const alone = { ...program, group: undefined };
  assert.deepEqual(resolveOwner({ ...alone, user: 'vcap' }, 'web', identities), {
    userId: 1000,
    groupId: 1000,
  });
  assert.deepEqual(resolveOwner({ ...alone, user: '77' }, 'web', identities), { userId: 77, groupId: 77 });
  assert.deepEqual(resolveOwner({ ...alone, user: undefined }, 'web', identities), {});
});

test('with a single id only that id can be used, and the error gives the reason', () => {
  const identities = parseIdentities(single);
  assert.equal(identities.hasSingleId, true);
  assert.equal(vcapGroup(identities), undefined);
  assert.deepEqual(resolveOwner({ ...program, user: 'root' }, 'web', identities), {
    userId: 0,
    groupId: 0,
  });
  assert.throws(
    () => resolveOwner({ ...program, user: 'vcap' }, 'web', identities),
    (error) =>
      isProductError(error, 'AGENT_OWNER_UNAVAILABLE') &&
      /job 'web': the user 'vcap' of its monit file cannot be used: .*single user id/.test(error.message),
  );
});

test('without root only the own id can be used, and ranges of ids are not joined', () => {
  assert.equal(vcapGroup(parseIdentities({ ...files, user: 1000, userGroup: 1000 })), undefined);
  const ranges = parseIdentities({ ...files, userMap: '0 1000 1\n1 100000 65535\n' });
  assert.deepEqual(
    [0, 1, 65_535, 65_536].map((id) => ranges.canActAsUser(id)),
    [true, true, true, false],
  );
  assert.equal(ranges.hasSingleId, false);
});

test('explains a failed chown if there is a single id', () => {
  const stderr = '+ chown -R vcap:vcap /x\nchown: changing ownership of /x: Invalid argument\n+ exit 1\n';
  assert.match(
    ownershipHint(stderr, parseIdentities(single)) ?? '',
    /single user id.*\(chown: changing ownership of \/x/,
  );
  assert.equal(ownershipHint(stderr, parseIdentities(files)), undefined);
  assert.equal(ownershipHint('make: Invalid argument', parseIdentities(single)), undefined);
});
