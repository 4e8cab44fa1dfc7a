# SPDX-License-Identifier: Apache-2.0
# Hashes, references, regular expressions, sorting, closures, packages, formats and processes of Perl.
use strict;
use warnings;
use List::Util qw(sum max first reduce);
use POSIX qw(floor);
package Shape { sub new { my ($class, %of) = @_; return bless {%of}, $class } sub area { 0 } sub name { ref shift } }
package Square { our @ISA = ('Shape'); sub area { $_[0]{side} ** 2 } }
package main;
my %count;
open my $in, '<', 'large' or die "large: $!";
while (<$in>) { chomp; my (undef, $number) = split; $count{$number % 7}++ }
close $in;
print join(' ', map { "$_=$count{$_}" } sort keys %count), "\n";
print sum(1 .. 100), ' ', max(3, 9, 2), ' ', (first { $_ > 5 } 1 .. 10), ' ', (reduce { $a * $b } 1 .. 10), "\n";
my $text = 'The year 1999 and the year 2026';
my @years = $text =~ /(\d{4})/g;
(my $changed = $text) =~ s/(\d+)/<$1>/g;
print "@years $changed ", scalar reverse('abc'), ' ', ucfirst(lc 'WORD'), ' ', tr/a-z// // 0, "\n" for 'abc';
my @shapes = (Square->new(side => 3), Shape->new);
printf "%s %d\n", $_->name, $_->area for @shapes;
my $deep = {list => [1, [2, 3], {x => 'y'}]};
print "$deep->{list}[1][1] $deep->{list}[2]{x} ", scalar @{$deep->{list}}, "\n";
my @sorted = sort { $b <=> $a } map { $_ * 7 % 11 } 1 .. 10;
print "@sorted[0..4] @sorted[-2,-1]\n";
my $counter = do { my $n = 0; sub { return ++$n } };
$counter->() for 1 .. 4;
print $counter->(), ' ', floor(-2.5), ' ', sprintf('%.3e %b %o %s', 12345.678, 10, 8, 1 / 3), "\n";
eval { die {code => 42} };
print "caught $@->{code}\n";
local $_ = "k1=v1;k2=v2";
my %pairs = map { split /=/ } split /;/;
print join(',', map { "$_:$pairs{$_}" } sort keys %pairs), "\n";
print "even\n" if "abab" =~ /^(?:(ab))+$/ && $1 eq 'ab';
my $packed = pack 'NnC a4', 1, 2, 3, 'text';
print unpack('H*', $packed), ' ', join('-', unpack('NnC a4', $packed)), "\n";
print "children: ", `echo from a shell | tr a-z A-Z`;
my $child = fork;
if (!$child) { exit 6 }
waitpid $child, 0;
print 'status ', $? >> 8, "\n";
pipe my $reading, my $writing;
if (!fork) { close $reading; print $writing "through a pipe\n"; exit }
close $writing;
print "got ", <$reading>;
wait;
local $SIG{USR1} = sub { print "signal\n" };
kill USR1 => $$;
opendir my $folder, 'sub' or die;
print join(' ', sort grep { !/^\./ } readdir $folder), "\n";
exit 4;
