/** distribution's reference grammar, less the length rules (github.com/distribution/reference). */
const reference =
  /^(?<name>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)(?<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/u;

/** Returns name and digest of the image that nodes pull; undefined if the text is not an image reference. */
export function parseImageReference(
  text: string,
): { readonly name: string; readonly digest: string | undefined } | undefined {
  const { name, digest } = reference.exec(text)?.groups ?? {};
  return name === undefined ? undefined : { name, digest };
}

/** Replaces the host of a registry in the name of a stemcell's image that was built and not pushed. */
export const placeholderHost = 'bosh-kubernetes.local';
