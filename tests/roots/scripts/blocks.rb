# SPDX-License-Identifier: Apache-2.0
# Blocks, classes, modules, strings, numbers, exceptions, fibers, threads and processes of Ruby.
require 'set'
module Named
  def describe = "#{self.class.name.downcase} of #{size}"
end
class Box
  include Comparable
  include Named
  attr_reader :size
  def initialize(size) = @size = size
  def <=>(other) = size <=> other.size
end
boxes = [5, 3, 9].map { |size| Box.new(size) }
puts boxes.min.describe, boxes.sort.map(&:size).inspect, boxes.sum(&:size)
puts (1..20).select(&:even?).each_slice(3).to_a.inspect, (1..Float::INFINITY).lazy.map { _1 * 2 }.first(3).inspect
puts File.readlines('text', chomp: true).group_by(&:size).inspect
puts 'The quick brown'.scan(/\w+/).map(&:capitalize).join('-'), 'x=1;y=2'.gsub(/(\w)=(\d)/) { "#{$2}#{$1}" }
puts 2**200, 10.divmod(-3).inspect, 0.1 + 0.2, 1r / 3, Complex(1, 2) * Complex(0, 1), 255.to_s(2), Integer.sqrt(10**20)
begin
  raise ArgumentError, 'wrong'
rescue => error
  puts "#{error.class}: #{error.message}"
ensure
  puts 'ensured'
end
fiber = Fiber.new { 3.times { |i| Fiber.yield i }; :done }
puts 4.times.map { fiber.resume }.inspect
queue = Queue.new
threads = 4.times.map { |i| Thread.new { queue << i * i } }
threads.each(&:join)
puts Array.new(4) { queue.pop }.sort.inspect
case {name: 'x', list: [1, [2, 3]]}
in {name: String => name, list: [Integer => first, [*, last]]}
  puts "#{name} #{first} #{last}"
end
puts Set[1, 2, 3].subset?(Set[1, 2, 3, 4]), [3, 1].minmax.inspect, %w[a b].zip([1, 2]).to_h, format('%05.2f|%-4s|', 3.14159, 'ab')
Point = Struct.new(:x, :y) { def length = Math.hypot(x, y) }
puts Point.new(3, 4).length, Point.new(1, 2).to_a.inspect
File.write('new', "written\n")
puts File.size('new'), Dir.children('sub').sort.inspect, [1, 2].pack('s>l<').bytes.inspect
puts `echo from a shell | tr a-z A-Z`, $?.exitstatus
child = fork { exit 3 }
Process.wait child
puts $?.exitstatus
exit 8
