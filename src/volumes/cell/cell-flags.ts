// In a file of its own, because the help shows these flags and loads no bundle.
export const cellFlags = {
  binding: { type: 'string', value: 'FILE', help: 'The binding; - is the standard input' },
  name: { type: 'string', value: 'NAME', help: 'Name of the container (default: a random one)' },
  uid: { type: 'string', value: 'UID', default: '2000', help: 'User of the app' },
  gid: { type: 'string', value: 'GID', default: '2000', help: 'Group of the app' },
  root: { type: 'string', value: 'FOLDER', default: '/', help: 'Root of the app' },
  state: { type: 'string', value: 'FOLDER', default: '/var/vcap/data/volume-cell', help: 'Records' },
  drivers: { type: 'string', value: 'FOLDERS', default: '/var/vcap/data/voldrivers', help: 'Spec files' },
  mounts: { type: 'string', value: 'FOLDERS', default: '/var/vcap/data', help: 'Roots of mounts' },
  grace: { type: 'string', value: 'SECONDS', default: '10', help: 'Time between SIGTERM and SIGKILL' },
} as const;
