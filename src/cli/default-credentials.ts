/** Where `up` keeps the secrets that it makes for a manifest, unless --vars-store names another file. */
export function defaultVarsStorePath(manifestPath: string): string {
  return manifestPath.replace(/(\.ya?ml)?$/, '-creds.yml');
}
