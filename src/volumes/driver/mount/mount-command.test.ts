import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountCommand, type NfsMountSpec, type SmbMountSpec } from './mount-command.ts';
import { nfs, smb } from './testing/plain-orders.ts';

const defaults = 'hard,timeo=600,retrans=2,rsize=1048576,wsize=1048576,retry=0,nosharecache';

test('the options of NFS are those of the upstream driver, with nosuid and nodev', () => {
  assert.deepEqual(mountCommand(nfs, '/t'), {
    args: ['-t', 'nfs', '-o', `nosuid,nodev,${defaults},actimeo=0`, '--', 'h:/x', '/t'],
  });
});

test('version, read-only and attribute caching of NFS become options', () => {
  const spec: NfsMountSpec = {
    ...nfs,
    host: '2001:db8::1',
    version: '4.1',
    readOnly: true,
    attributeCaching: true,
  };
  const { args } = mountCommand(spec, '/t');
  assert.deepEqual(args.slice(3), [`nosuid,nodev,ro,${defaults},vers=4.1`, '--', '[2001:db8::1]:/x', '/t']);
});

test("the options of SMB are typed, the ids are the container's, and the password is separate", () => {
  const spec: SmbMountSpec = {
    ...smb,
    domain: 'd',
    version: '3.1.1',
    readOnly: true,
    fileMode: '0640',
    dirMode: '0750',
    security: 'ntlmssp',
    flags: ['mfsymlinks', 'noserverino'],
  };
  const options =
    'nosuid,nodev,ro,uid=2000,gid=2000,iocharset=utf8,username=u,domain=d,vers=3.1.1,file_mode=0640,dir_mode=0750,sec=ntlmssp,mfsymlinks,noserverino';
  assert.deepEqual(mountCommand(spec, '/t'), {
    args: ['-t', 'cifs', '-o', options, '--', '//h/s', '/t'],
    password: 'p',
  });
});
