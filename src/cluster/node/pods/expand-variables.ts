/**
 * Replaces `$(NAME)` by that variable's value; `$$` stands for one `$`, and an unknown name stays as it is
 * (kubernetes: third_party/forked/golang/expansion/expand.go).
 */
export function expandVariables(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\$|\(([^()]*)\))/g, (match, name: string | undefined) =>
    name === undefined ? '$' : (variables.get(name) ?? match),
  );
}
