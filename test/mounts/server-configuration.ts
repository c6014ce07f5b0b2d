/** Returns the configuration of Ganesha: it exports directories of `directory`, with root squashed. */
export function ganeshaConfiguration(directory: string, address: string): string {
  const exported = ['plain', 'private', 'closed'].map((name, index) => {
    const access = name === 'closed' ? 'Access_Type = None;' : 'Access_Type = RW;';
    const exportPaths = `Path = ${directory}/${name}; Pseudo = /${name};`;
    return `EXPORT { Export_Id = ${index + 1}; ${exportPaths} ${access} FSAL { Name = VFS; } }`;
  });
  return `
NFS_CORE_PARAM { Bind_addr = ${address}; Protocols = 3, 4; mount_path_pseudo = true; }
NFSV4 { Graceless = true; Minor_Versions = 0, 1, 2; RecoveryBackend = fs; }
EXPORT_DEFAULTS { Squash = Root_Squash; SecType = sys; Protocols = 3, 4; Transports = TCP; }
${exported.join('\n')}
`;
}

/** Returns the configuration of Samba: one share, for SMB 1.0 to 3.1.1. */
export function sambaConfiguration(directory: string): string {
  const state = ['private dir', 'state directory', 'cache directory', 'lock directory', 'pid directory'];
  return `
[global]
server min protocol = NT1
server role = standalone server
passdb backend = smbpasswd:${directory}/samba/smbpasswd
${state.map((name) => `${name} = ${directory}/samba`).join('\n')}
ncalrpc dir = ${directory}/samba/rpc
log file = ${directory}/samba.log
load printers = no
disable spoolss = yes
disable netbios = yes
smb ports = 445
[share]
path = ${directory}/share
read only = no
`;
}
