# Renders job templates for src/bosh/template: a batch per line on stdin, on stdout a line for each of its templates as soon as
# it is done, both JSON. ASCII only: it is handed over as an argument.
# Runs the same under a native ruby (2.6 or newer) and under ruby.wasm.
# Templates see what the bosh CLI shows them (bosh-cli: templatescompiler/erbrenderer/erb_renderer.rb).

require "json"
require "erb"
require "yaml"
# Loading it takes longer than everything else here, and few templates want it.
autoload :Gem, "rubygems" unless defined?(Gem)
# Templates of routers take it for loaded: a director has it, and openssl loads it in rubies before 3.4.
autoload :IPAddr, "ipaddr"

# Properties and `spec` with dots: unknown names are nil, assignment works.
class PropertyStruct
  def initialize(hash)
    @table = hash.each_with_object({}) { |(name, value), table| table[name.to_s] = PropertyStruct.wrap(value) }
  end

  def self.wrap(value)
    case value
    when Hash then new(value)
    when Array then value.map { |item| wrap(item) }
    else value
    end
  end

  def self.unwrap(value)
    case value
    when PropertyStruct then value.to_hash_with { |name| name }
    when Array then value.map { |item| unwrap(item) }
    else value
    end
  end

  def [](name)
    @table[name.to_s]
  end

  def []=(name, value)
    @table[name.to_s] = PropertyStruct.wrap(value)
  end

  def dig(name, *rest)
    value = self[name]
    rest.empty? || value.nil? ? value : value.dig(*rest)
  end

  def each_pair
    return to_h.each_pair unless block_given?
    @table.each_pair { |name, value| yield(name.to_sym, value) }
    self
  end

  def to_h
    @table.transform_keys(&:to_sym)
  end

  def to_hash_with
    @table.each_with_object({}) { |(name, value), hash| hash[yield(name)] = PropertyStruct.unwrap(value) }
  end

  def to_json(*args)
    PropertyStruct.unwrap(self).to_json(*args)
  end

  def methods(regular = true)
    regular ? super : @table.keys.map(&:to_sym)
  end

  def ==(other)
    other.is_a?(PropertyStruct) && to_h == other.to_h
  end

  def method_missing(name, *args)
    text = name.to_s
    return self[text.chomp("=")] = args.first if text.end_with?("=")
    @table[text]
  end

  def respond_to_missing?(name, _private = false)
    @table.key?(name.to_s) || name.to_s.end_with?("=")
  end
end

class UnknownProperty < StandardError
  attr_reader :names

  def initialize(names)
    @names = names
    super("Can't find property '#{names.join("', or '")}'")
  end
end

# What `if_p` gives when a property is missing: the other branch runs.
class ActiveElse
  def initialize(context)
    @context = context
  end

  def else
    yield
  end

  def else_if_p(*names, &block)
    @context.if_p(*names, &block)
  end

  def else_if_link(name, &block)
    @context.if_link(name, &block)
  end
end

class InactiveElse
  def else
  end

  def else_if_p(*_names)
    self
  end

  def else_if_link(_name)
    self
  end
end

# `if_link` is false in the bosh CLI; templates that a director renders go on with `.else`, and here they may.
class << false
  def else
    yield
  end
end

# `self` of a template. All that it has is seen by templates: helpers are elsewhere. There is no `link`: some ask whether there is.
module TemplateContext
  attr_reader :name, :index, :properties, :raw_properties, :spec

  def initialize(context)
    @name = context["job"]["name"] if context["job"].is_a?(Hash)
    @index = context["index"]
    @raw_properties = Declared.properties(context)
    @properties = PropertyStruct.wrap(@raw_properties)
    @spec = PropertyStruct.wrap(context)
  end

  def p(*args)
    names = Array(args[0])
    names.each do |name|
      value = Declared.look_up(@raw_properties, name)
      return value unless value.nil?
    end
    return args[1] if args.length == 2
    raise UnknownProperty.new(names)
  end

  def if_p(*names)
    values = names.map do |name|
      value = Declared.look_up(@raw_properties, name)
      return ActiveElse.new(self) if value.nil?
      value
    end
    yield(*values)
    InactiveElse.new
  end

  def if_link(_name)
    false
  end
end

module Declared
  # The job's own properties, or the global ones with the group's merged in; of them only what the job's spec declares.
  def self.properties(context)
    given = sorted(context["job_properties"])
    given = merge(sorted(context["global_properties"]) || {}, sorted(context["cluster_properties"]) || {}) if given.nil?
    (sorted(context["default_properties"]) || {}).each_with_object({}) do |(name, default), declared|
      value = look_up(given, name)
      store(declared, name.split("."), value.nil? ? default : value)
    end
  end

  # Keys by bytes, as the bosh CLI's contexts have them: Go's encoding/json sorts maps.
  def self.sorted(value)
    case value
    when Hash then value.sort_by(&:first).to_h.transform_values { |item| sorted(item) }
    when Array then value.map { |item| sorted(item) }
    else value
    end
  end

  def self.store(target, keys, value)
    keys[0..-2].each { |key| target = (target[key] ||= {}) }
    target[keys.last] = value unless value.nil? && target.key?(keys.last)
  end

  def self.merge(base, other)
    base.merge(other) { |_, old, new| old.is_a?(Hash) && new.is_a?(Hash) ? merge(old, new) : new }
  end

  def self.look_up(properties, name)
    name.split(".").reduce(properties) { |value, key| value.is_a?(Hash) ? value[key] : nil }
  end
end

# Templates dump bare texts and numbers too.
class << JSON
  alias_method :dump_collection, :dump

  def dump(*args)
    bare = args[0].is_a?(String) || args[0].is_a?(Numeric)
    bare ? args[0].inspect : dump_collection(*args)
  end

  # Older ones break the line inside of empty collections; strings stay as they are.
  unless JSON.pretty_generate([]) == "[]"
    alias_method :pretty_generate_with_breaks, :pretty_generate

    def pretty_generate(*args)
      pretty_generate_with_breaks(*args).gsub(/"(?:[^"\\]|\\.)*"|\{\s+\}|\[\s+\]/) do |token|
        token.start_with?('"') ? token : token[0] + token[-1]
      end
    end
  end
end

# As before Ruby 3.4: published templates were written for that, and some turn `=>` into something else.
unless { 1 => 2 }.inspect == "{1=>2}"
  class Hash
    def inspect
      "{#{map { |key, value| "#{key.inspect}=>#{value.inspect}" }.join(", ")}}"
    end
    alias_method :to_s, :inspect
  end
end

# Libraries that a ruby without its gems lacks.
module Libraries
  IN_WASM = RUBY_PLATFORM.include?("wasm")
  # Native code that Ruby's own libraries require and ruby.wasm has not.
  COMPILED = %w[bigdecimal bigdecimal.so io/console racc racc/cparse.so socket].freeze

  # Whether there are more libraries now. Only when one is missing: rubygems loads for longer than most templates.
  def self.add_gems
    return false if @added
    @added = true
    if IN_WASM
      require "rbconfig"
      $LOAD_PATH.concat(Dir["#{RbConfig::CONFIG["rubylibprefix"]}/gems/*/gems/*/lib"].sort)
      return true
    end
    begin
      require "rubygems"
      true
    rescue LoadError
      false
    end
  end

  # ipaddr uses these constants alone. `socket` itself stays missing: what needs sockets is told so.
  def self.with_socket_constants
    Object.class_eval <<-RUBY unless defined?(::Socket)
      class BasicSocket; end
      class Socket < BasicSocket
        AF_UNSPEC = 0
        AF_INET = 2
        AF_INET6 = 10
      end
      class IPSocket < BasicSocket; end
    RUBY
    $LOADED_FEATURES << "socket.rb"
    yield
  ensure
    $LOADED_FEATURES.delete("socket.rb")
  end
end

module Kernel
  require_without_gems = instance_method(:require)

  define_method(:require) do |name|
    begin
      require_without_gems.bind(self).call(name)
    rescue LoadError => error
      # not require_without_gems: rubygems replaces this method
      next require(name) if Libraries.add_gems
      raise unless Libraries::IN_WASM && name == "ipaddr" && error.path == "socket"
      Libraries.with_socket_constants { require_without_gems.bind(self).call(name) }
    end
  end
  private :require
end

module Renderer
  # Ruby's own messages that name kinds and counts. All others may quote the text that they were given, which may be a secret.
  PLAIN = /\A(?:no implicit conversion (?:of|from) [\w:]+ (?:in)?to [\w:]+|can't convert [\w:]+ (?:in)?to [\w:]+|[\w:]+ can't be coerced into [\w:]+|wrong number of arguments \(given \d+, expected [\d.+]+\)|divided by 0|stack level too deep)\z/.freeze

  INSTALL_RUBY =
    "Install a ruby that has it, or its gem, and put it on PATH: where it can be confined it renders the templates then".freeze

  def self.render(template)
    erb = ERB.new(template["template"], trim_mode: "-")
    erb.filename = template["name"]
    type = Class.new { include TemplateContext }
    type.set_temporary_name("the template") if type.respond_to?(:set_temporary_name)
    { "text" => erb.result(type.new(template["context"]).instance_exec(&own_binding)) }
  rescue SystemExit, Interrupt, NoMemoryError => error
    { "error" => { "message" => "the template ends the program", "line" => line(error, template["name"]) } }
  rescue Exception => error
    { "error" => { "message" => message(error, template), "line" => line(error, template["name"]) } }
  end

  # What a template makes of a property is not told apart from its own text: told is what stands in the template as it is.
  def self.message(error, template)
    case error
    when UnknownProperty then named("Can't find property", error.names, template)
    when NoMethodError
      return named("links do not exist in create-env, so there is no link", error.args, template) if link?(error)
      written?(error.name.to_s, template) ? "undefined method '#{error.name}' for #{receiver(error)}" : "NoMethodError"
    when SyntaxError
      # of the template itself; other code was made of something that it was given
      own = error.message.start_with?("#{template["name"]}:")
      own ? "syntax error: #{syntax_faults(error)}" : "SyntaxError"
    when LoadError
      missing_library(error.path.to_s, template) || error.class.to_s
    when NameError
      written?(error.name.to_s, template) ? "#{error.class}: undefined '#{error.name}'" : error.class.to_s
    else
      said = error.message
      literal = ["'#{said}'", "\"#{said}\""].any? { |text| template["template"].include?(text) }
      literal || PLAIN.match?(said) ? "#{error.class}: #{said}" : error.class.to_s
    end
  end

  def self.named(fault, names, template)
    declared = template["context"]["default_properties"] || {}
    shown = names.map(&:to_s).select { |name| declared.key?(name) || written?(name, template) }
    shown.length == names.length ? "#{fault} '#{shown.join("', or '")}'" : "#{fault} of a name that the template computes"
  end

  def self.missing_library(name, template)
    return unless Libraries::COMPILED.include?(name) || (!name.empty? && written?(name, template))
    return "ruby.wasm has no library '#{name}'. #{INSTALL_RUBY}" if Libraries::IN_WASM
    "the installed ruby has no library '#{name}'. Install the gem that has it, for all users and not in a home directory"
  end

  def self.link?(error)
    error.name == :link && error.args.length == 1 && error.receiver.is_a?(TemplateContext)
  rescue ArgumentError
    false
  end

  # As a word: single characters stand in every template.
  def self.written?(name, template)
    template["template"].match?(/(?<![[:word:]])#{Regexp.escape(name)}(?![[:word:]])/)
  end

  # Newer rubies draw the source with an arrow before each fault, older ones say it in the first line.
  def self.syntax_faults(error)
    drawn = error.message.scan(/\^~*[ \t]*([^\s^~].*)$/).flatten
    drawn.empty? ? error.message.lines.first.to_s.sub(/\A.*?:\d+: /, "").strip : drawn.uniq.first(3).join("; ")
  end

  def self.receiver(error)
    receiver = error.receiver
    receiver.nil? ? "nil" : "an instance of #{receiver.is_a?(TemplateContext) ? "the template" : receiver.class}"
  rescue ArgumentError
    "an object"
  end

  def self.line(error, name)
    places = [*error.backtrace, *error.message.lines].map(&:to_s)
    place = places.find { |text| text.include?("#{name}:") }
    place && place.split("#{name}:").last.to_i
  end
end

# The binding of `self` alone: not of a method here, whose local variables templates would see and assign.
def Renderer.own_binding
  proc { binding }
end

# It would end this program without a word of where.
module Kernel
  def exit!(status = false)
    raise SystemExit.new(status)
  end
  module_function :exit!
end

def Process.exit!(status = false)
  raise SystemExit.new(status)
end

# What templates and their programs print belongs to nobody. WASI has neither dup(2) nor programs.
answers =
  begin
    $stdout.dup.tap { $stdout.reopen($stderr) }
  rescue Errno::ENOTSUP
    $stdout
  end
$stdout = $stderr
Object.send(:remove_const, :STDOUT)
STDOUT = $stderr
answers.sync = true
answers.puts('{"ready":true}')
$stdin.each_line do |line|
  JSON.parse(line)["templates"].each { |template| answers.puts(JSON.generate(Renderer.render(template))) }
end
